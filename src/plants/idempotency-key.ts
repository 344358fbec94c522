import type { Call } from '../call.ts';
import { PlantStoreError } from '../domain/errors.ts';
import { MAX_IDEMPOTENCY_KEY } from '../domain/idempotency.ts';

/**
 * A String of Structured Fields (RFC 9651, section 3.3.3): printable ASCII in quotes, with quotes and backslashes
 * escaped.
 */
const STRING = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;

/** Visible ASCII without quotes, backslashes, commas and semicolons. */
const BARE = /^[!#-+\--:<-[\]-~]+$/;

/**
 * The idempotency key of a call, if it has one (draft-ietf-httpapi-idempotency-key-header). Accepts a String of
 * Structured Fields, or its content without quotes. Throws IDEMPOTENCY_KEY_MALFORMED for any other text, an empty or
 * too long key, or more than one key.
 */
export function idempotencyKeyOf({ idempotencyKey: header }: Call): string | undefined {
  if (header === undefined) return undefined;
  const [only, ...more] = [header].flat();
  const key = more.length > 0 ? undefined : parse(only!);
  if (key !== undefined && key.length > 0 && key.length <= MAX_IDEMPOTENCY_KEY) return key;
  throw new PlantStoreError(
    'IDEMPOTENCY_KEY_MALFORMED',
    `Idempotency-Key must be one string of 1 to ${MAX_IDEMPOTENCY_KEY} characters of printable ASCII in quotes, such as "8e03978e-40d5-43dd-bc93-6894a57f9324"`,
  );
}

const parse = (text: string): string | undefined =>
  BARE.test(text) ? text : STRING.exec(text)?.[1]?.replaceAll(/\\(.)/g, '$1');
