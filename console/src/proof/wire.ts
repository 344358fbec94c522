import { type Bytes, textOf } from './bytes.ts';

/** How a field is encoded. A `required` field must exist, and a `present` field may hold its default value. */
export interface FieldRule {
  readonly kind: 'number' | 'bytes';
  readonly required?: true;
  readonly present?: true;
}

/** The fields of a message, by number. */
export type FieldRules = Readonly<Record<number, FieldRule>>;

const VARINT = 0;
const LENGTH = 2;
const MAX_VARINT = 10;

/** The fields of a message in canonical protobuf: a decoded message has exactly one such form (docs/audit.md). */
export class Message {
  readonly #numbers = new Map<number, bigint>();
  readonly #bytes = new Map<number, Bytes>();

  /** Throws, with the reason, unless the bytes are in canonical form and hold only these fields. */
  constructor(message: Uint8Array, rules: FieldRules) {
    let at = 0;
    let last = 0;
    const varint = (): bigint => {
      let value = 0n;
      for (let read = 0; read < MAX_VARINT; read++) {
        const byte = message[at++];
        if (byte === undefined) break;
        value |= BigInt(byte & 0x7f) << BigInt(7 * read);
        if (byte > 0x7f) continue;
        if (value >= 2n ** 64n || (read > 0 && byte === 0)) break;
        return value;
      }
      throw new Error('a number in it is not in canonical form');
    };
    while (at < message.length) {
      const tag = varint();
      const number = Number(tag >> 3n);
      const rule = rules[number];
      if (rule === undefined) throw new Error(`it has a field ${number} that is not known`);
      if (number <= last) throw new Error('its fields are not in ascending order');
      if (Number(tag & 7n) !== (rule.kind === 'number' ? VARINT : LENGTH))
        throw new Error(`its field ${number} is of another type`);
      last = number;
      const value = varint();
      if (value === 0n && !rule.present) throw new Error(`its field ${number} has a default value, which is left out`);
      if (rule.kind === 'number') this.#numbers.set(number, value);
      else {
        const end = at + Number(value);
        if (end > message.length) throw new Error(`it ends within field ${number}`);
        this.#bytes.set(number, message.slice(at, end) as Bytes);
        at = end;
      }
    }
    for (const [number, { required }] of Object.entries(rules))
      if (required && !this.has(Number(number))) throw new Error(`it has no field ${number}`);
  }

  /** Whether a field exists. */
  has(number: number): boolean {
    return this.#numbers.has(number) || this.#bytes.has(number);
  }

  /** An unsigned number, or 0. */
  unsigned(number: number): bigint {
    return this.#numbers.get(number) ?? 0n;
  }

  /** A signed number, or 0. */
  signed(number: number): bigint {
    return BigInt.asIntN(64, this.unsigned(number));
  }

  /** A count, or 0. Throws if it exceeds 2^53. */
  count(number: number): number {
    const value = Number(this.signed(number));
    if (!Number.isSafeInteger(value) || value < 0) throw new Error(`its field ${number} is out of range`);
    return value;
  }

  /** Bytes; undefined if the field is absent. */
  bytes(number: number): Bytes | undefined {
    return this.#bytes.get(number);
  }

  /** A text, or an empty one. Throws if it is not UTF-8. */
  text(number: number): string {
    return textOf(this.#bytes.get(number) ?? new Uint8Array());
  }
}
