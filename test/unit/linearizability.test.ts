import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isLinearizable, type Model, type Operation } from '../support/linearizability.ts';

/** A command or a list of one owner. */
type PlantInput =
  | { readonly do: 'add'; readonly id: number; readonly name: string }
  | { readonly do: 'delete'; readonly id: number }
  | { readonly do: 'list' };

/** Whether a command was accepted, or the names of a list in ascending order of id. */
type PlantOutput = boolean | readonly string[];

/** An operation on the plants of one owner. */
type PlantOperation = Operation<PlantInput, PlantOutput>;

/** The sequential model of one owner's plants. A state is the JSON of [id, name] pairs in ascending order of id. */
const plantsModel: Model<PlantInput, PlantOutput> = {
  initial: '[]',
  step(state, input, output) {
    const plants = JSON.parse(state) as [number, string][];
    if (input.do === 'list') {
      const same = output === undefined || JSON.stringify(plants.map(([, name]) => name)) === JSON.stringify(output);
      return same ? state : undefined;
    }
    const at = plants.findIndex(([id]) => id === input.id);
    const accepted = input.do === 'add' ? at === -1 : at !== -1;
    if (output !== undefined && output !== accepted) return undefined;
    if (!accepted) return state;
    if (input.do === 'add') plants.push([input.id, input.name]);
    else plants.splice(at, 1);
    return JSON.stringify(plants.sort(([a], [b]) => a - b));
  },
};

const operation = (
  called: number,
  returned: number,
  input: PlantInput,
  output: PlantOutput | undefined,
): PlantOperation => ({
  called,
  returned,
  input,
  output,
});
const add = (id: number, name = 'Fern'): PlantInput => ({ do: 'add', id, name });
const remove = (id: number): PlantInput => ({ do: 'delete', id });
const list: PlantInput = { do: 'list' };
const check = (...history: PlantOperation[]) => isLinearizable(plantsModel, history);

/** Few operations on one plant, which meet in few moments. */
const histories = fc.array(
  fc.oneof(
    fc.record({
      input: fc.constantFrom(add(1, 'a'), add(1, 'b'), remove(1)),
      output: fc.constantFrom(true, true, false, undefined),
    }),
    fc.record({ input: fc.constant(list), output: fc.constantFrom([], ['a'], ['b'], undefined) }),
  ),
  { maxLength: 6 },
);

const endOf = ({ output, returned }: PlantOperation) => (output === undefined ? Number.POSITIVE_INFINITY : returned);

/** The same, by trying every order. */
const hasOrder = (left: readonly PlantOperation[], state: string): boolean =>
  left.every(({ output }) => output === undefined) ||
  left.some((next) => {
    if (left.some((other) => endOf(other) < next.called)) return false;
    const after = plantsModel.step(state, next.input, next.output);
    const rest = left.filter((other) => other !== next);
    return after !== undefined && hasOrder(rest, after);
  });

test('a history is linearizable where one of all orders fits', () => {
  const seen = new Set<boolean>();
  fc.assert(
    fc.property(histories, fc.infiniteStream(fc.nat(8)), (steps, times) => {
      const history = steps.map(({ input, output }) => {
        const called = times.next().value as number;
        return operation(called, called + (times.next().value as number), input, output);
      });
      const expected = hasOrder(history, plantsModel.initial);
      seen.add(expected);
      expect(check(...history)).toBe(expected);
    }),
    { numRuns: 2_000 },
  );
  expect(seen.size).toBe(2);
});

test('operations that are alike are tried in one order: sixty of unknown outcome are decided at once', () => {
  const unknown = (count: number, input: PlantInput) =>
    Array.from({ length: count }, (_, at) => operation(at, at + 1, input, undefined));
  const history = [...unknown(30, add(1)), ...unknown(30, remove(1))];
  expect(check(...history, operation(90, 91, list, ['Fern']), operation(92, 93, list, []))).toBe(true);
  expect(check(...history, operation(90, 91, list, ['Rose']))).toBe(false);
});
