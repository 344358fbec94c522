import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { InvalidFieldError } from '../../domain/errors.ts';
import { MAX_INT64, MIN_INT64 } from '../../domain/plant.ts';

/** A decimal integer of at most 19 digits after leading zeros, as in a URL of REST. */
const DECIMAL = /^-?0*\d{1,19}$/;

/** Smallest and largest value of the integers that the service's requests have. */
const BOUNDS: ReadonlyMap<ScalarType, readonly [bigint, bigint]> = new Map([
  [ScalarType.INT32, [-(2n ** 31n), 2n ** 31n - 1n]],
  [ScalarType.INT64, [MIN_INT64, MAX_INT64]],
]);

/**
 * Checks the integers of a message in protobuf's JSON form, in which those that a double cannot hold are strings. The
 * library takes all that BigInt and Number take: hexadecimal, spaces, a plus sign. Throws INVALID_FIELD; `path` names
 * the message in the request. What is not of the form otherwise is left to the library.
 */
export function checkIntegers({ fields }: DescMessage, json: unknown, path: readonly string[] = []): void {
  if (typeof json !== 'object' || json === null) return;
  const members = json as Readonly<Record<string, unknown>>;
  for (const field of fields) {
    const value = members[field.jsonName] ?? members[field.name];
    if (value === undefined || value === null) continue;
    if (field.fieldKind === 'message') checkIntegers(field.message, value, [...path, field.name]);
    else if (field.fieldKind === 'scalar') checkInteger(field, value, path);
  }
}

function checkInteger({ scalar, name }: DescField & { fieldKind: 'scalar' }, value: unknown, path: readonly string[]) {
  const bounds = BOUNDS.get(scalar);
  if (bounds === undefined) return;
  const [min, max] = bounds;
  const integer = integerOf(value);
  if (integer !== undefined && integer >= min && integer <= max) return;
  const field = [...path, name].join('.');
  throw new InvalidFieldError(field, `must be an integer from ${min} to ${max}`);
}

function integerOf(value: unknown): bigint | undefined {
  if (typeof value === 'string') return DECIMAL.test(value) ? BigInt(value) : undefined;
  return Number.isSafeInteger(value) ? BigInt(value as number) : undefined;
}
