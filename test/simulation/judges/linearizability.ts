import { plantIdOf } from '../../../src/domain/decider.ts';
import { keyString } from '../../../src/domain/plant.ts';
import { isLinearizable } from '../../support/linearizability.ts';
import { type PlantOperation, plantsModel } from '../../support/plants-model.ts';
import type { Sent } from './commands.ts';
import { Violation } from './violation.ts';

/** What a client heard of one plant. */
export interface PlantRead {
  readonly owner: string;
  readonly id: bigint;
  /** Undefined: it is not there. */
  readonly name: string | undefined;
  readonly called: number;
  readonly returned: number;
}

/**
 * Judges what was heard of each plant, without a look at the log: there is an order of the calls about it that explains
 * every answer. An erasure is many calls, so owners who are erased are left out, as are those who use keys.
 */
export function judgeLinearizability(
  reads: readonly PlantRead[],
  sent: Iterable<Sent>,
  erased: ReadonlySet<string>,
): void {
  const left = new Set(erased);
  const operations = new Map<string, { owner: string; history: PlantOperation[] }>();
  const put = (owner: string, id: bigint, operation: PlantOperation) => {
    const key = keyString(owner, id);
    const known = operations.get(key);
    if (known === undefined) operations.set(key, { owner, history: [operation] });
    else known.history.push(operation);
  };
  for (const { owner, id, name, called, returned } of reads)
    put(owner, id, { input: { do: 'list' }, output: name === undefined ? [] : [name], called, returned });
  for (const { command, outcome, called, returned = Number.POSITIVE_INFINITY, isDecided } of sent) {
    const { owner } = command;
    if (command.idempotencyKey !== undefined) left.add(owner);
    if (outcome === 'not applied' && !isDecided) continue;
    const id = plantIdOf(command);
    const about = { id: Number(id) };
    const input =
      command.type === 'AddPlant'
        ? ({ do: 'add', ...about, name: command.plant.name } as const)
        : ({ do: 'delete', ...about } as const);
    put(owner, id, { input, output: outcome === 'unknown' ? undefined : outcome === 'applied', called, returned });
  }
  for (const [key, { owner, history }] of operations)
    if (!left.has(owner) && !isLinearizable(plantsModel, history))
      throw new Violation('linearizability', `no order explains what was heard of ${key}`, owner);
}
