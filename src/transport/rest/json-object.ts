import { PlantStoreError } from '../../domain/errors.ts';
import { JsonText } from '../../json/json-text.ts';

/** A body that is a JSON object (RFC 8259), whose integers are read exactly. */
export class JsonObject {
  readonly #text: JsonText;
  readonly #members: Readonly<Record<string, unknown>>;

  /** Reads an object in UTF-8 without a byte order mark, in which no member is named twice. Throws MALFORMED_REQUEST. */
  constructor(bytes: Buffer) {
    this.#text = read(bytes);
    const { value } = this.#text;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed('must be a JSON object');
    this.#members = value as Record<string, unknown>;
  }

  /** A member's value as JSON.parse reads it: a number may have lost its last digits. Undefined: there is none. */
  get(name: string): unknown {
    return Object.hasOwn(this.#members, name) ? this.#members[name] : undefined;
  }

  /** The exact integer that a member is, however it is written (`7`, `7.0`, `70e-1`); undefined when it is none of 19 digits. */
  integer(name: string): bigint | undefined {
    return this.#text.integer(name);
  }
}

function read(bytes: Buffer): JsonText {
  try {
    return new JsonText(bytes);
  } catch (error) {
    throw malformed(`is ${(error as SyntaxError).message}`);
  }
}

const malformed = (problem: string) => new PlantStoreError('MALFORMED_REQUEST', `the body ${problem}`);
