import { isUtf8 } from 'node:buffer';

/** A number that is no integer of at most EXACT_LENGTH characters in plain digits: it may not be exact as a double. */
interface OtherNumber {
  /** The number as written. */
  readonly source: string;
  readonly start: number;
  /** Name, as written, of the number's member in the outermost object; undefined for a deeper number. */
  readonly name: string | undefined;
}

/** Most values of a text. What the service reads has some twenty. */
const MAX_VALUES = 1_000;

/**
 * A JSON text (RFC 8259) with exact integers. No object may name a member twice, because readers differ in which of the
 * two they take (RFC 7493, section 2.3), and it has at most MAX_VALUES values, each of which would be an object. Time
 * and memory are linear in the length of any text.
 */
export class JsonText {
  /** The result of JSON.parse: a number may have lost its last digits. */
  readonly value: unknown;
  readonly #text: string;
  readonly #others: readonly OtherNumber[];

  /** Reads a text, or UTF-8 without byte order mark. Throws SyntaxError: its message completes "the text is". */
  constructor(source: string | Buffer) {
    if (typeof source !== 'string' && !isUtf8(source)) throw new SyntaxError('not encoded in UTF-8');
    this.#text = source.toString();
    const found = scan(this.#text, MAX_VALUES);
    if (found === undefined) throw new SyntaxError(`too complex: it has over ${MAX_VALUES} values`);
    this.value = parse(this.#text);
    const { members, others } = found;
    if (members !== countMembers(this.value)) throw new SyntaxError('ambiguous: it names a member twice');
    this.#others = others;
  }

  /**
   * The integer that a member of the outermost object has, by `integerOf`. Undefined if it has none: a string of digits
   * is no number.
   */
  integer(member: string): bigint | undefined {
    const value = (this.value as Readonly<Record<string, unknown>>)[member];
    if (typeof value !== 'number') return undefined;
    const found = this.#others.find(({ name }) => name !== undefined && JSON.parse(name) === member);
    return found === undefined ? BigInt(value) : integerOf(found.source);
  }

  /**
   * The same text with each number that is not exact as a double written as a string: an integer in decimal digits,
   * whatever its notation. JSON.parse keeps strings as they are, and protobuf's JSON mapping accepts a string for an
   * int64. `value` still says which of them were numbers.
   */
  withInexactNumbersQuoted(): string {
    const inexact = this.#others.filter(({ source }) => !isExact(source));
    let quoted = '';
    let end = 0;
    for (const { source, start } of inexact) {
      quoted += `${this.#text.slice(end, start)}"${integerOf(source) ?? source}"`;
      end = start + source.length;
    }
    return quoted + this.#text.slice(end);
  }
}

/** JSON.parse whose error has no stack trace, which would cost more than the reading of a short text. */
function parse(text: string): unknown {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return JSON.parse(text);
  } catch {
    const mark = text.startsWith('\ufeff') ? ': it begins with a byte order mark' : '';
    throw new SyntaxError(`not valid JSON (RFC 8259)${mark}`);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Whether a double represents the integer exactly. True for a fraction too: no int64 field accepts one. */
function isExact(source: string): boolean {
  const value = Number(source);
  return Number.isSafeInteger(value) ? integerOf(source) === BigInt(value) : Math.abs(value) < Number.MAX_SAFE_INTEGER;
}

/** Counts the members of all objects in a value. Without recursion: the text's length alone bounds the depth. */
function countMembers(value: unknown): number {
  let members = 0;
  const waiting: object[] = isObject(value) ? [value] : [];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (Array.isArray(next)) {
      for (const inner of next) if (isObject(inner)) waiting.push(inner);
    } else {
      for (const name in next) {
        members++;
        const inner: unknown = next[name as keyof object];
        if (isObject(inner)) waiting.push(inner);
      }
    }
  }
  return members;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const INT64_DIGITS = 19;

const SHORT_INTEGER = /^-?\d{1,19}$/;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * The integer value of a JSON number (RFC 8259, section 6) in any notation: `7`, `7.0`, `70e-1`. Undefined for a
 * fraction, and for an integer of more than 19 digits. `source` must be a JSON number.
 */
export function integerOf(source: string): bigint | undefined {
  if (SHORT_INTEGER.test(source)) return BigInt(source);
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(source)!;
  const digits = whole + fraction;
  const start = countZeros(digits, 0, 1);
  if (start === digits.length) return 0n;
  const end = digits.length - countZeros(digits, digits.length - 1, -1);
  const zeros = Number(exponent) + whole.length - end;
  if (zeros < 0 || end - start + zeros > INT64_DIGITS) return undefined;
  return BigInt(sign + digits.slice(start, end) + '0'.repeat(zeros));
}

function countZeros(digits: string, from: number, step: 1 | -1): number {
  let at = from;
  while (digits[at] === '0') at += step;
  return Math.abs(at - from);
}

/** Every integer of at most this many characters is exact as a double. */
const EXACT_LENGTH = 15;

/**
 * Reads a JSON text (RFC 8259) once, front to back: counts the members of all objects, duplicate names included, and
 * finds the numbers that may not be exact as doubles, in order. Undefined if it has more than `most` values, as far as
 * its commas and opening brackets tell. Any text will do, also one that is not JSON, and it costs far less than
 * JSON.parse, which makes an object of each value: call it first.
 *
 * A reviver of JSON.parse gets the source of each number too. But for a text of 64 KiB it takes up to 40 times as long
 * as JSON.parse without one, fails on deep nesting, and sees only the last of equal names.
 */
function scan(text: string, most: number) {
  const others: OtherNumber[] = [];
  let values = 1;
  let members = 0;
  let depth = 0;
  let string = '';
  for (let at = 0; at < text.length && values <= most; at++) {
    const character = text[at]!;
    if (character === '"') {
      const end = closingQuote(text, at);
      if (depth === 1) string = text.slice(at, end + 1);
      at = end;
    } else if (character === ':') members++;
    else if (character === ',') values++;
    else if (character === '{' || character === '[') {
      values++;
      depth++;
    } else if (character === '}' || character === ']') depth--;
    else if (character === '-' || isDigit(character)) {
      const start = at;
      let isPlain = true;
      for (let next = text[at + 1]; isInNumber(next); next = text[at + 1]) {
        if (!isDigit(next)) isPlain = false;
        at++;
      }
      if (isPlain && at - start < EXACT_LENGTH) continue;
      others.push({ source: text.slice(start, at + 1), start, name: depth === 1 ? string : undefined });
    }
  }
  return values > most ? undefined : { members, others };
}

/** Offset of the closing quote of the string that begins at `opening`; the text's length if there is none. */
function closingQuote(text: string, opening: number): number {
  let end = opening;
  do end = text.indexOf('"', end + 1);
  while (end >= 0 && isEscaped(text, end));
  return end < 0 ? text.length : end;
}

/** Whether an odd number of backslashes is before a character. */
function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text[start - 1] === '\\') start--;
  return (at - start) % 2 === 1;
}

const isDigit = (character: string): boolean => character >= '0' && character <= '9';

const isInNumber = (character: string | undefined): character is string =>
  character !== undefined && (isDigit(character) || '.-+eE'.includes(character));
