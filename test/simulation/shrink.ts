import { type Outcome, runHistory } from './history.ts';

/** Milliseconds for which a history is made shorter. */
const PATIENCE = 20_000;

/** A shorter history with a violation of the same kind: steps are left out, many at a time, then fewer. */
export async function shrink(failed: Outcome): Promise<Outcome> {
  const end = performance.now() + PATIENCE;
  let shortest = failed;
  for (let size = Math.ceil(failed.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < shortest.steps.length && performance.now() < end; ) {
      const outcome = await runHistory(failed.seed, failed.plan, shortest.steps.toSpliced(from, size));
      if (outcome.violation?.kind === failed.violation?.kind) shortest = outcome;
      else from += size;
    }
  }
  return shortest;
}

/** What a failed history was, and how to see it again. `each`: the option of that name with which it was found. */
export function report({ seed, steps, violation, story }: Outcome, each?: string): string {
  const command = `npm run simulate -- --seed ${seed}${each ? ` --each ${each}` : ''} --only ${steps.join(',')}`;
  return [...story, `${violation?.kind}: ${violation?.message}`, command].join('\n');
}
