import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';

/**
 * Gives one process the first core, and others the rest, so that who is measured and who measures do not take each
 * other's CPU. False where there is no taskset or but one core.
 */
export function pin(alone: number, others: readonly number[]): boolean {
  const cores = cpus().length;
  if (cores < 2) return false;
  try {
    taskset('0', alone);
    for (const pid of others) taskset(`1-${cores - 1}`, pid);
    return true;
  } catch {
    return false;
  }
}

/** Fails where a thread ends meanwhile, which is then tried again. */
function taskset(cores: string, pid: number, attempts = 5): void {
  try {
    execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, `${pid}`], { stdio: 'ignore' });
  } catch (error) {
    if (attempts === 1) throw error;
    taskset(cores, pid, attempts - 1);
  }
}
