import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide, evolve, type PlantCommand, type PlantState } from '../../src/domain/decider.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { PlantEvent } from '../../src/domain/events.ts';
import { commandArbitrary } from '../support/arbitraries.ts';

const added: PlantEvent = { type: 'PlantAdded', owner: 'alice', actor: 'al', plantId: 7n, name: 'Fern', tag: 'indoor' };
const deleted: PlantEvent = { type: 'PlantDeleted', owner: 'alice', actor: 'al', plantId: 7n };
const add: PlantCommand = {
  type: 'AddPlant',
  owner: 'alice',
  actor: 'al',
  plant: { id: 7n, name: 'Fern', tag: 'indoor' },
};
const remove: PlantCommand = { type: 'DeletePlant', owner: 'alice', actor: 'al', id: 7n };

const given = (...events: PlantEvent[]) => ({
  when: (command: PlantCommand) => decide(command, events.reduce<PlantState>(evolve, undefined) !== undefined),
});

const reasonOf = (decision: PlantEvent | PlantStoreError) =>
  decision instanceof PlantStoreError ? decision.reason : decision;

describe('one plant', () => {
  test('is added where there is none', () => expect(given().when(add)).toEqual(added));
  test('is not added twice', () => expect(reasonOf(given(added).when(add))).toBe('PLANT_ALREADY_EXISTS'));
  test('is deleted where there is one', () => expect(given(added).when(remove)).toEqual(deleted));
  test('is not deleted where there is none', () => expect(reasonOf(given().when(remove))).toBe('PLANT_NOT_FOUND'));
  test('is not deleted twice', () => expect(reasonOf(given(added, deleted).when(remove))).toBe('PLANT_NOT_FOUND'));
  test('is added again after it was deleted', () => expect(given(added, deleted).when(add)).toEqual(added));
});

test('accepted commands of one key alternate: added, deleted, added, ...', () => {
  fc.assert(
    fc.property(fc.array(commandArbitrary), (commands) => {
      let state: PlantState;
      const types: string[] = [];
      for (const command of commands) {
        const decision = decide(command, state !== undefined);
        if (decision instanceof PlantStoreError) continue;
        state = evolve(state, decision);
        types.push(decision.type);
      }
      expect(types).toEqual(types.map((_, index) => (index % 2 === 0 ? 'PlantAdded' : 'PlantDeleted')));
    }),
  );
});
