import { describe, expect, test } from 'vitest';
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

describe('right histories', () => {
  test('one after the other', () =>
    expect(
      check(
        operation(0, 1, add(1), true),
        operation(2, 3, list, ['Fern']),
        operation(4, 5, remove(1), true),
        operation(6, 7, list, []),
      ),
    ).toBe(true));
  test('a list beside an add may show it or not', () => {
    expect(check(operation(0, 9, add(1), true), operation(1, 2, list, []), operation(3, 4, list, ['Fern']))).toBe(true);
  });
  test('one of two adds of an id wins', () =>
    expect(
      check(operation(0, 9, add(1, 'a'), false), operation(0, 9, add(1, 'b'), true), operation(10, 11, list, ['b'])),
    ).toBe(true));
  test('an unknown outcome may have taken effect late', () =>
    expect(check(operation(0, 1, add(1), undefined), operation(2, 3, list, []), operation(4, 5, list, ['Fern']))).toBe(
      true,
    ));
  test('or never', () => expect(check(operation(0, 1, add(1), undefined), operation(2, 3, list, []))).toBe(true));
});

describe('operations that are alike', () => {
  const unknown = (count: number, input: PlantInput) =>
    Array.from({ length: count }, (_, at) => operation(at, at + 1, input, undefined));

  test('are tried in one order: sixty of unknown outcome are decided at once', () => {
    const history = [...unknown(30, add(1)), ...unknown(30, remove(1))];
    expect(check(...history, operation(90, 91, list, ['Fern']), operation(92, 93, list, []))).toBe(true);
    expect(check(...history, operation(90, 91, list, ['Rose']))).toBe(false);
  });
  test('change places only where both fit', () => {
    const late = operation(10, 20, add(1), true);
    const early = operation(0, 5, add(1), true);
    expect(check(late, operation(6, 7, remove(1), true), early, operation(30, 31, list, ['Fern']))).toBe(true);
    expect(check(late, early, operation(30, 31, list, ['Fern']))).toBe(false);
  });
});

describe('wrong histories', () => {
  test('a list that misses what was acknowledged before', () =>
    expect(check(operation(0, 1, add(1), true), operation(2, 3, list, []))).toBe(false));
  test('a list that goes back', () =>
    expect(check(operation(0, 9, add(1), true), operation(1, 2, list, ['Fern']), operation(3, 4, list, []))).toBe(
      false,
    ));
  test('two winners', () => expect(check(operation(0, 9, add(1), true), operation(0, 9, add(1), true))).toBe(false));
  test('a refusal where nothing was there', () => expect(check(operation(0, 1, add(1), false))).toBe(false));
  test('a delete that was refused after the add was acknowledged', () =>
    expect(check(operation(0, 1, add(1), true), operation(2, 3, remove(1), false))).toBe(false));
  test('a list of two moments', () =>
    expect(
      check(
        operation(0, 1, add(1, 'a'), true),
        operation(2, 3, remove(1), true),
        operation(4, 5, add(2, 'b'), true),
        operation(0, 9, list, ['a', 'b']),
      ),
    ).toBe(false));
  test('an unknown add that is there, gone and there again', () =>
    expect(
      check(
        operation(0, 1, add(1), undefined),
        operation(2, 3, list, ['Fern']),
        operation(4, 5, list, []),
        operation(6, 7, list, ['Fern']),
      ),
    ).toBe(false));
});
