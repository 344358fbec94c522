import { InvalidFieldError } from './errors.ts';
import { MAX_TEXT_CODE_POINTS, type NewPlant, PLANT_FIELDS, type Plant, plantFields, withId } from './plant.ts';

/** The value of a required field. Throws INVALID_FIELD if it is missing. `field` is its proto path. */
export function required<Value>(field: string, value: Value | undefined): Value {
  if (value === undefined) throw new InvalidFieldError(field, 'is missing');
  return value;
}

/** The members that a message gives, each of which it may lack. */
type Given<Whole> = { readonly [Name in keyof Whole]?: Whole[Name] | undefined };

/**
 * The plant of a message. Throws INVALID_FIELD if a required field is missing, or a text is none that a plant may have.
 * `path`: what stands before a field's name in its proto path.
 */
export function requiredPlant(plant: Given<NewPlant>, path: string): NewPlant {
  const id = required(`${path}id`, plant.id);
  for (const { name, isRequired } of PLANT_FIELDS) if (isRequired) required(path + name, plant[name]);
  const added = withId(id, plant as Plant);
  checkTexts(added, path);
  return added;
}

/**
 * Throws INVALID_FIELD unless the plant's texts are well-formed Unicode of at most MAX_TEXT_CODE_POINTS each. `path`:
 * what stands before a field's name in its proto path.
 */
export function checkTexts(plant: Plant, path = ''): void {
  for (const [name, text] of Object.entries(plantFields(plant))) if (text !== undefined) checkText(path + name, text);
}

/** What is wrong with a text that has lone surrogates. */
export const NOT_WELL_FORMED = 'must be well-formed Unicode, without lone surrogates';

function checkText(field: string, text: string): void {
  if (!text.isWellFormed()) throw new InvalidFieldError(field, NOT_WELL_FORMED);
  if (text.length <= MAX_TEXT_CODE_POINTS) return;
  if (text.length > 2 * MAX_TEXT_CODE_POINTS || codePoints(text) > MAX_TEXT_CODE_POINTS)
    throw new InvalidFieldError(field, `must have at most ${MAX_TEXT_CODE_POINTS} code points`);
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
