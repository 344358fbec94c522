import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** A server under load, in a process of its own. */
export interface Server {
  readonly name: string;
  /** Address of its HTTP port. */
  readonly url: string;
  /** Its process. */
  readonly pid: number;
  /** CPU time that the process has used so far, in microseconds. */
  cpu(): number;
  /** Resident memory in bytes. */
  resident(): number;
  /** Ends it as a supervisor would; may be called more than once. */
  stop(): Promise<void>;
}

/** Microseconds of one clock tick of /proc: USER_HZ is 100 on Linux. */
const TICK = 10_000;

/** User and system time of a process, in microseconds. */
export function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK;
}

/** Resident memory of a process, in bytes. */
export const residentOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

/** Starts a program and waits until `addressOf` has its address. */
export async function startServer(
  name: string,
  program: string,
  args: readonly string[],
  env: Record<string, string>,
  addressOf: (child: ChildProcess) => Promise<string>,
): Promise<Server> {
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await addressOf(child);
  child.stdout!.resume();
  const pid = child.pid!;
  return {
    name,
    url,
    pid,
    cpu: () => cpuOf(pid),
    resident: () => residentOf(pid),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** The address of a server that prints it on a line of its own. */
export const printed =
  (addressOf: (line: string) => string | undefined) =>
  async (child: ChildProcess): Promise<string> => {
    for await (const line of createInterface({ input: child.stdout! })) {
      const found = addressOf(line);
      if (found !== undefined) return found;
    }
    throw new Error('the server ended before it listened');
  };
