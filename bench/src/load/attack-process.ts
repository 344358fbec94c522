import { execFileSync } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import type { AttackJob } from './attack.ts';
import { ATTACKS } from './attacks.ts';
import { Crowd } from './crowd.ts';

// Bystander and supervisor share the core, and must not measure the attacker. A process of low priority still ends its
// slice of some milliseconds when they wake; an idle one does not.
setPriority(constants.priority.PRIORITY_LOW);
try {
  execFileSync('chrt', ['--all-tasks', '--idle', '--pid', '0', `${process.pid}`], { stdio: 'ignore' });
} catch {
  // There is no chrt: what an idle server takes shows the difference.
}

let crowd: Crowd | undefined;

/** The process that attacks: begins and ends as its parent says. */
process.on('message', (job: AttackJob | { readonly type: 'end' }) => {
  if (job.type === 'begin') crowd = new Crowd(ATTACKS[job.name]!(job.target));
  process.send!({ done: job.type === 'begin' ? undefined : crowd!.end() });
});
process.on('disconnect', () => process.exit(0));
