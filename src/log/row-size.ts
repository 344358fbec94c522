import { textLength } from '../domain/plant.ts';
import type { PlantRow } from './store.ts';

/** Bytes above which a list is streamed from a snapshot: about 2,500 plants with usual names. */
export const SHORT_LIST = 1024 * 1024;

/** Most bytes of a plant without its text: its row, its message, and the JSON and protobuf around its fields. */
const PLANT_OVERHEAD = 320;
/**
 * Most bytes of a UTF-16 code unit in a string, in JSON and in protobuf together: 1 + 6 + 1 for a control character,
 * which JSON escapes, or 2 + 3 + 3 for any character beyond Latin-1.
 */
const BYTES_PER_CODE_UNIT = 8;

/** Most bytes of plants in memory, including their encoded forms. */
export const listBytes = (plants: readonly PlantRow[]): number => bytesOf(plants, BYTES_PER_CODE_UNIT);

/** Most bytes of plants in memory, without the encoded forms of their texts. */
export const rowBytes = (plants: readonly PlantRow[]): number => bytesOf(plants, 2);

function bytesOf(plants: readonly PlantRow[], perCodeUnit: number): number {
  let codeUnits = 0;
  for (const plant of plants) codeUnits += textLength(plant);
  return PLANT_OVERHEAD * plants.length + perCodeUnit * codeUnits;
}
