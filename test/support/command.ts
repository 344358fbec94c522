import { Writable } from 'node:stream';
import { vi } from 'vitest';
// Zod, which every command reads its settings with, makes globals at its import: not amid the tests of a file.
import '../../src/config.ts';
import type { Ended } from './run.ts';

/** Ends what asked for the end of the process. */
class Exit extends Error {}

/** Keeps what is written to it. */
class Kept extends Writable {
  readonly chunks: Buffer[] = [];

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.chunks.push(chunk);
    done();
  }

  override toString(): string {
    return Buffer.concat(this.chunks).toString();
  }
}

let runs = 0;

/**
 * Runs `plantstore` in the process of the test, in a hundredth of the CPU of a process: for what it says and how it
 * ends. Its environment has only the given variables and PATH. One at a time; not for what only a process shows, such
 * as signals, pipes and that nothing keeps it from ending, nor for a service that starts.
 */
export async function command(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const [stdout, stderr] = [new Kept(), new Kept()];
  const was = Object.getOwnPropertyDescriptors(process);
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  let code: number | undefined;
  // What a process says after its end, nobody reads.
  const exit = (asked?: number | string | null): never => {
    code ??= Number(asked ?? process.exitCode ?? 0);
    throw new Exit();
  };
  const say = (...said: unknown[]) => code === undefined && stderr.write(`${said.join(' ')}\n`);
  const error = vi.spyOn(console, 'error').mockImplementation(say);
  Object.defineProperties(process, {
    argv: { ...was.argv, value: [process.execPath, 'plantstore', ...args] },
    env: { ...was.env, value: { PATH, NODE_COMPILE_CACHE, ...environment } },
    exit: { ...was.exit, value: exit },
    stdout: { configurable: true, value: stdout },
    stderr: { configurable: true, value: stderr },
  });
  process.exitCode = 0;
  try {
    // Another query is another module, which runs; what it imports is there.
    await import(/* @vite-ignore */ `../../src/cli/main.ts?run=${runs++}`);
    code ??= Number(process.exitCode ?? 0);
  } catch (thrown) {
    if (!(thrown instanceof Exit)) throw thrown;
  } finally {
    error.mockRestore();
    process.exitCode = undefined;
    const { argv, env, exit, stdout, stderr } = was;
    Object.defineProperties(process, { argv: argv!, env: env!, exit: exit!, stdout: stdout!, stderr: stderr! });
  }
  return { code: code!, stdout: stdout.toString(), stderr: stderr.toString() };
}
