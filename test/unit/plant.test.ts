import { describe, expect, test } from 'vitest';
import {
  isSamePlant,
  PLANT_FIELDS,
  type Plant,
  plantFields,
  plantOfTexts,
  setFields,
  textBytes,
  textLength,
  textsOf,
  withId,
  withKey,
} from '../../src/domain/plant.ts';

const KEY = { owner: 'alice', id: 7n };
const EMPTY = Object.fromEntries(PLANT_FIELDS.map(({ name, isRequired }) => [name, isRequired ? '' : undefined]));

describe.each(PLANT_FIELDS)('the text $name of a plant', ({ name }) => {
  const plant = { ...EMPTY, [name]: 'ö' } as unknown as Plant;

  test('is in every copy of the plant', () => {
    for (const copy of [plantFields(plant), setFields(plant), withId(7n, plant), withKey(KEY, plant)])
      expect(copy).toMatchObject({ [name]: 'ö' });
    expect(plantFields({ ...plant, ...KEY } as Plant)).toEqual(plant);
  });

  test('is a cell of its row', () => {
    const cells = textsOf(plant);
    expect(cells).toHaveLength(PLANT_FIELDS.length);
    expect(cells[PLANT_FIELDS.findIndex((field) => field.name === name)]).toBe('ö');
    expect(plantOfTexts([7n, ...cells], 1)).toEqual(plant);
  });

  test('counts for its size, and makes it another plant', () => {
    expect(textLength(plant)).toBe(1);
    expect(textBytes(plant)).toBe(2);
    expect(isSamePlant(plant, { ...plant })).toBe(true);
    expect(isSamePlant(plant, { ...plant, [name]: 'o' })).toBe(false);
  });
});
