import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isLinearizable } from '../support/linearizability.ts';
import { type PlantInput, type PlantOperation, type PlantOutput, plantsModel } from '../support/plants-model.ts';

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
