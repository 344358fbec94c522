import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The descriptors of both ends of a pipe with a buffer of 64 KiB. Reads do not block. */
export function openPipe(): { readonly reader: number; readonly writer: number } {
  const directory = mkdtempSync(join(tmpdir(), 'plantstore-pipe-'));
  const path = join(directory, 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, 'w');
  rmSync(directory, { recursive: true });
  return { reader, writer };
}

const HOLD = 'import os, sys; master, slave = os.openpty(); print(os.ttyname(slave), flush=True); sys.stdin.read()';

/** A terminal that accepts no output, as after Ctrl-S. */
export async function openStoppedTerminal(): Promise<{ readonly writer: number } & AsyncDisposable> {
  const holder = spawn('python3', ['-c', HOLD], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [path] = await once(holder.stdout, 'data');
  return {
    writer: openSync(String(path).trim(), constants.O_RDWR | constants.O_NOCTTY),
    async [Symbol.asyncDispose]() {
      holder.stdin.end();
      await once(holder, 'close');
    },
  };
}
