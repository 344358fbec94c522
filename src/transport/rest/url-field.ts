import type { DescField } from '@bufbuild/protobuf';
import { InvalidFieldError } from '../../domain/errors.ts';
import { type FieldType, invalidField, isOptional, toInteger, typeOf } from './field-type.ts';

/** A decimal integer of at most 19 digits after leading zeros. */
const DECIMAL = /^-?0*\d{1,19}$/;

/** Parsed query. A repeated parameter has all its values. */
export type Query = Readonly<Record<string, string | string[] | undefined>>;

/** A request field in a URL: in a path segment or in the query. */
export class UrlField {
  /** Name in the message. */
  readonly localName: string;
  readonly #name: string;
  readonly #jsonName: string;
  readonly #type: FieldType;
  readonly #absent: unknown;

  /** Throws for a field that has no REST form in a URL. */
  constructor(field: DescField) {
    this.#type = typeOf(field);
    if (this.#type.kind === 'message' || this.#type.kind === 'messages')
      throw new Error(`REST has no form for ${field} in a URL`);
    this.localName = field.localName;
    this.#name = field.name;
    this.#jsonName = field.jsonName;
    this.#absent = isOptional(field) ? undefined : zeroOf(this.#type);
  }

  /** From the path. Throws INVALID_FIELD. */
  inPath(params: Readonly<Record<string, string>>): unknown {
    const text = params[this.#name]!;
    if (text === '')
      throw new InvalidFieldError(this.#name, 'is missing: the path ends with a slash; remove it to list');
    return this.#read(text);
  }

  /**
   * From the query. An absent parameter leaves an `optional` field unset, and any other field at its default. Throws
   * INVALID_FIELD.
   */
  inQuery(query: Query): unknown {
    const text = query[this.#jsonName];
    if (text === undefined) return this.#absent;
    if (typeof text !== 'string') throw invalidField(this.#name, 'given once');
    return this.#read(text);
  }

  /** `text` is percent-decoded. */
  #read(text: string): unknown {
    switch (this.#type.kind) {
      case 'integer':
        return toInteger(this.#type, DECIMAL.test(text) ? BigInt(text) : undefined, this.#name);
      case 'enum':
        return enumValue(this.#type.values, text, this.#name);
      default:
        return text;
    }
  }
}

function enumValue(values: ReadonlyMap<string, number>, text: string, name: string): number {
  const value = values.get(text);
  if (value === undefined) throw invalidField(name, [...values.keys()].join(' or '));
  return value;
}

const zeroOf = (type: FieldType): unknown => (type.kind === 'integer' ? type.zero : type.kind === 'enum' ? 0 : '');
