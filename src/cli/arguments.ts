import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import type { Moment } from '../audit/fold/as-of.ts';
import { isName, NAME_RULE } from '../auth/principal.ts';
import { MAX_INT64, MIN_INT64 } from '../domain/plant.ts';
import { KEY_BYTES } from '../log/event/event.ts';
import { fromBase64 } from '../tlog/bytes.ts';
import { parseLogKey, type VerifierKey } from '../tlog/verifier-key.ts';

const DIGITS = /^\d+$/;
const INT64 = /^-?\d{1,19}$/;
/** RFC 3339, on a day that exists, of the years 1 to 9999; or that day alone, for its beginning in UTC. */
const TIME = z.union([z.iso.datetime({ offset: true }), z.iso.date()]).refine((text) => !text.startsWith('0000'));

/** Parses a whole number. `what`: what is expected, for the message. */
export const whole = (least: number, most: number, what: string) => (text: string) => {
  const value = Number(text);
  if (DIGITS.test(text) && value >= least && value <= most) return value;
  throw new InvalidArgumentError(`Expected ${what}.`);
};

/** Parses a position in the log. */
export const position = whole(0, Number.MAX_SAFE_INTEGER, 'a position: a whole number, 0 or above');

/** A fraction below a millisecond, which Date.parse cuts off. */
const BELOW = /\.\d{3}\d*[1-9]/;

/** Parses a time, or a date for its beginning in UTC, to milliseconds since 1970; a half stands for any fraction. */
export function time(text: string): number {
  if (!TIME.safeParse(text).success)
    throw new InvalidArgumentError('Expected a time such as 2026-01-02T03:04:05Z or 2026-01-02 (UTC).');
  return Date.parse(text) + (BELOW.test(text) ? 0.5 : 0);
}

/** Parses a position or a time. */
export function moment(text: string): Moment {
  if (DIGITS.test(text)) return { position: position(text) };
  if (TIME.safeParse(text).success) return { time: time(text) };
  throw new InvalidArgumentError(
    'Expected a position such as 42, or a time such as 2026-01-02T03:04:05Z or 2026-01-02 (UTC).',
  );
}

/** Parses the name of somebody, such as `an owner`. */
export const nameOf = (whom: string) => (text: string) => {
  if (isName(text)) return text;
  throw new InvalidArgumentError(`Expected the name of ${whom}. It ${NAME_RULE}.`);
};

/** Parses the name of an owner. */
export const ownerName = nameOf('an owner');

/** Parses the id of a plant. */
export function plantId(text: string): bigint {
  const value = INT64.test(text) ? BigInt(text) : undefined;
  if (value === undefined || value < MIN_INT64 || value > MAX_INT64)
    throw new InvalidArgumentError(
      'Expected the id of a plant, a whole number from -9223372036854775808 to 9223372036854775807.',
    );
  return value;
}

/** Parses the key of an erasure's subject, of KEY_BYTES, in hexadecimal or base64. */
export function subjectKey(text: string): Uint8Array {
  // Whole ones alone: a part of one would be another key, and so begin another erasure.
  const key = /^[0-9a-f]{32}$/i.test(text) ? Buffer.from(text, 'hex') : fromBase64(text);
  if (key?.length !== KEY_BYTES)
    throw new InvalidArgumentError('Expected the 16 bytes of a key, in hexadecimal or base64.');
  return key;
}

/** Parses the vkey of a log, or by `parse` that of a witness. */
export function vkey(text: string, parse: (vkey: string) => VerifierKey = parseLogKey): VerifierKey {
  try {
    return parse(text.trim());
  } catch (error) {
    throw new InvalidArgumentError(`Expected a vkey: ${(error as Error).message}.`);
  }
}
