import { constants, setPriority } from 'node:os';
import type { AttackJob } from './attack.ts';
import { ATTACKS } from './attacks.ts';
import { Crowd } from './crowd.ts';

// The bystander shares the core, and must not measure the attacker.
setPriority(constants.priority.PRIORITY_LOW);

let crowd: Crowd | undefined;

/** The process that attacks: begins and ends as its parent says. */
process.on('message', (job: AttackJob | { readonly type: 'end' }) => {
  if (job.type === 'begin') crowd = new Crowd(ATTACKS[job.name]!(job.target));
  process.send!({ done: job.type === 'begin' ? undefined : crowd!.end() });
});
process.on('disconnect', () => process.exit(0));
