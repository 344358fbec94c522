import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Freezes a process. Resolves when all its threads stand still, which on a busy machine is some time after the signal.
 */
export async function freeze(child: ChildProcess): Promise<void> {
  child.kill('SIGSTOP');
  while (!isFrozen(child.pid!)) await sleep(1);
}

function isFrozen(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) => {
    try {
      return /\) T /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8'));
    } catch {
      // It has ended meanwhile: looked at again.
      return false;
    }
  });
}
