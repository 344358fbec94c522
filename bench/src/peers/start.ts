import { join } from 'node:path';
import type { Bench } from '../resources.ts';
import { printed, type Server, startServer } from '../server.ts';

/**
 * Starts the peer that a file of this folder is. It prints its address on a line of its own, perhaps among lines of a
 * log, and ends on SIGTERM.
 */
export const startPeer = (bench: Bench, name: string, file: string, env: Record<string, string>): Promise<Server> =>
  bench.server(
    startServer(
      name,
      process.execPath,
      [join(import.meta.dirname, file)],
      env,
      printed((line) => (line.startsWith('{') ? undefined : line)),
    ),
  );
