import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Bench } from '../resources.ts';
import { printed, type Server, startServer } from '../server.ts';

const SOURCE = join(import.meta.dirname, 'go');
/** REST and gRPC. */
const ADDRESSES = /^(http:\S+) (\S+)$/;

/** The Go peer, with its two ports. */
export interface GoPeer extends Server {
  readonly grpcAddress: string;
}

/**
 * Generates, builds and starts the Go peer. Where that is not possible (no Go, or no way to its modules) the comparison
 * goes on without it, after one line that says so. The first build takes a minute or two.
 */
export async function startGoPeer(bench: Bench, env: Record<string, string>): Promise<GoPeer | undefined> {
  const program = join(bench.directory(), 'peer');
  try {
    const run = promisify(execFile);
    await run('buf', ['generate'], { cwd: SOURCE });
    await run('go', ['build', '-o', program, '.'], { cwd: SOURCE });
  } catch (error) {
    console.error(`THE GO PEER IS LEFT OUT, it cannot be built: ${(error as Error).message.trim()}`);
    return undefined;
  }
  let grpcAddress = '';
  const server = await bench.server(
    startServer(
      'Go',
      program,
      [],
      env,
      printed((line) => {
        const found = ADDRESSES.exec(line);
        grpcAddress = found?.[2] ?? '';
        return found?.[1];
      }),
    ),
  );
  return { ...server, grpcAddress };
}
