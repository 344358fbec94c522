import { type ChildProcess, type StdioNull, type StdioPipe, spawn } from 'node:child_process';

/** Ends its process at once when the other end of stdin is closed. It keeps no process from ending. */
const GUARD = `
import { isMainThread } from 'node:worker_threads';
if (isMainThread) process.stdin.once('end', () => process.kill(process.pid, 'SIGKILL')).resume().unref();`;

/** How a program writes: to the test, to a descriptor, or where the test does. */
type Outlet = StdioNull | StdioPipe | number;

/**
 * Starts a program of Node that ends with the process of the test, however that ends: a run of tests that is killed
 * leaves no service. Its stdin is taken. Its environment has only the given variables and PATH.
 */
export const spawnTied = (
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  stdout: Outlet,
  stderr: Outlet,
): ChildProcess =>
  spawn(process.execPath, ['--import', `data:text/javascript,${encodeURIComponent(GUARD)}`, ...args], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['pipe', stdout, stderr],
  });
