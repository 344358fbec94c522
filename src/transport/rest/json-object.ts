import type { JsonText } from '../../json/json-text.ts';
import { malformedBody, readJsonBody } from '../http/json-body.ts';

/** A body that is a JSON object (RFC 8259), with exact integers. */
export class JsonObject {
  readonly #text: JsonText;
  readonly #members: Readonly<Record<string, unknown>>;

  /** Parses an object in UTF-8 without a byte order mark and without duplicate members. Throws MALFORMED_REQUEST. */
  constructor(bytes: Buffer) {
    this.#text = readJsonBody(bytes);
    const { value } = this.#text;
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw malformedBody('must be a JSON object');
    this.#members = value as Record<string, unknown>;
  }

  /** A member's value as JSON.parse reads it: a number may have lost its last digits. Undefined: no such member. */
  get(name: string): unknown {
    return Object.hasOwn(this.#members, name) ? this.#members[name] : undefined;
  }

  /**
   * The exact integer of a member in any notation (`7`, `7.0`, `70e-1`). Undefined: not an integer of at most 19
   * digits.
   */
  integer(name: string): bigint | undefined {
    return this.#text.integer(name);
  }
}
