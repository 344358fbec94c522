import { InvalidFieldError } from './errors.ts';
import { MAX_TEXT_CODE_POINTS, type Plant, plantFields } from './plant.ts';

/** The value of a required field. Throws INVALID_FIELD if it is missing. `field` is its proto path. */
export function required<Value>(field: string, value: Value | undefined): Value {
  if (value === undefined) throw new InvalidFieldError(field, 'is missing');
  return value;
}

/**
 * Throws INVALID_FIELD unless the plant's texts are well-formed Unicode of at most MAX_TEXT_CODE_POINTS each. `path`:
 * what stands before a field's name in its proto path.
 */
export function checkTexts(plant: Plant, path = ''): void {
  for (const [name, text] of Object.entries(plantFields(plant))) if (text !== undefined) checkText(path + name, text);
}

function checkText(field: string, text: string): void {
  if (!text.isWellFormed()) throw new InvalidFieldError(field, 'must be well-formed Unicode, without lone surrogates');
  if (text.length <= MAX_TEXT_CODE_POINTS) return;
  if (text.length > 2 * MAX_TEXT_CODE_POINTS || codePoints(text) > MAX_TEXT_CODE_POINTS)
    throw new InvalidFieldError(field, `must have at most ${MAX_TEXT_CODE_POINTS} code points`);
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
