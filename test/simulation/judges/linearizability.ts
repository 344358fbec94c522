import { plantIdOf } from '../../../src/domain/decider.ts';
import { isLinearizable } from '../../support/linearizability.ts';
import { type PlantOperation, plantsModel } from '../../support/plants-model.ts';
import type { Sent } from './commands.ts';
import { Violation } from './violation.ts';

/** A list of all of an owner's plants that a client got. */
export interface WholeList {
  readonly owner: string;
  readonly names: readonly string[];
  readonly called: number;
  readonly returned: number;
}

/** Most operations whose order is searched for: the search may take long, and the other judges see as much. */
const MOST = 60;

/**
 * Judges what each owner heard, without a look at the log: there is an order of the owner's calls that explains every
 * answer. An erasure is many calls, so owners who are erased are left out, as are keys that were used again.
 */
export function judgeLinearizability(
  lists: readonly WholeList[],
  sent: Iterable<Sent>,
  erased: ReadonlySet<string>,
): void {
  const operations = new Map<string, PlantOperation[]>();
  const put = (owner: string, operation: PlantOperation) => {
    const known = operations.get(owner);
    if (known === undefined) operations.set(owner, [operation]);
    else known.push(operation);
  };
  for (const { owner, names, called, returned } of lists)
    put(owner, { input: { do: 'list' }, output: names, called, returned });
  const withKeys = new Set<string>();
  for (const { command, outcome, called, returned = Number.POSITIVE_INFINITY, isDecided } of sent) {
    const { owner } = command;
    if (command.idempotencyKey !== undefined) withKeys.add(owner);
    if (outcome === 'not applied' && !isDecided) continue;
    const id = Number(plantIdOf(command));
    const input =
      command.type === 'AddPlant'
        ? ({ do: 'add', id, name: command.plant.name } as const)
        : ({ do: 'delete', id } as const);
    put(owner, { input, output: outcome === 'unknown' ? undefined : outcome === 'applied', called, returned });
  }
  for (const [owner, history] of operations)
    if (!erased.has(owner) && !withKeys.has(owner) && history.length <= MOST && !isLinearizable(plantsModel, history))
      throw new Violation('linearizability', `no order explains what ${owner} heard`, owner);
}
