import { isUtf8 } from 'node:buffer';
import { PlantStoreError } from '../../domain/errors.ts';
import { integerOf, numberSources } from './json-number.ts';

/** A fraction or an exponent of a number, or what looks like one inside a string. */
const FRACTION_OR_EXPONENT = /\d[.eE]/;

/** A JSON object (RFC 8259), whose integers are read exactly. Of equal member names the last wins. */
export class JsonObject {
  readonly #text: string;
  readonly #members: Readonly<Record<string, unknown>>;

  /** Reads an object in UTF-8 without a byte order mark. Throws MALFORMED_REQUEST. */
  constructor(bytes: Buffer) {
    if (!isUtf8(bytes)) throw malformed('must be encoded in UTF-8');
    this.#text = bytes.toString();
    let value: unknown;
    try {
      value = JSON.parse(this.#text);
    } catch {
      throw malformed('is not valid JSON (RFC 8259)');
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed('must be a JSON object');
    this.#members = value as Record<string, unknown>;
  }

  /** A member's value as JSON.parse reads it: a number may have lost its last digits. Undefined: there is none. */
  get(name: string): unknown {
    return Object.hasOwn(this.#members, name) ? this.#members[name] : undefined;
  }

  /** The exact integer that a member is, however it is written (`7`, `7.0`, `70e-1`); undefined when it is none of 19 digits. */
  integer(name: string): bigint | undefined {
    const value = this.get(name);
    if (typeof value !== 'number') return undefined;
    // Where all numbers are plain digits, one that is safe as a double lost nothing.
    if (Number.isSafeInteger(value) && !FRACTION_OR_EXPONENT.test(this.#text)) return BigInt(value);
    return integerOf(numberSources(this.#text).get(name)!);
  }
}

const malformed = (problem: string) => new PlantStoreError('MALFORMED_REQUEST', `the body ${problem}`);
