import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { basename } from 'node:path';

/**
 * Leaves the cores to other threads where the calling one would take them away: on Linux, which schedules threads one by one.
 * Elsewhere, and where the system refuses, it changes nothing.
 */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return;
  try {
    const thread = Number(basename(readlinkSync('/proc/thread-self')));
    setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // A sandbox that hides /proc. It costs those who wait for a command some speed, and nothing else.
  }
}
