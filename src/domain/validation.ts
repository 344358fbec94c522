import { InvalidFieldError } from './errors.ts';
import { MAX_TEXT_CODE_POINTS } from './plant.ts';

/** The value of a required field. Throws INVALID_FIELD if it is missing. `field` is its proto path. */
export function required<Value>(field: string, value: Value | undefined): Value {
  if (value === undefined) throw new InvalidFieldError(field, 'is missing');
  return value;
}

/**
 * Throws INVALID_FIELD unless the text is well-formed Unicode of at most MAX_TEXT_CODE_POINTS. `field` is its proto
 * path.
 */
export function checkText(field: string, text: string): void {
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
