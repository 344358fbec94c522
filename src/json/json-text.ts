import { isUtf8 } from 'node:buffer';
import { integerOf } from './integer.ts';
import { type DoubtfulNumber, scan } from './scan.ts';

/**
 * A JSON text (RFC 8259) whose integers are read exactly, and in which no object has two members of one name: of those, two
 * readers may take two (RFC 7493, section 2.3). It takes time and memory in proportion to the text, whatever is in it.
 */
export class JsonText {
  /** What JSON.parse reads: a number may have lost its last digits. */
  readonly value: unknown;
  readonly #text: string;
  readonly #doubtful: readonly DoubtfulNumber[];

  /** Reads a text, or one in UTF-8 without a byte order mark. Throws SyntaxError, its message what the text is, such as `not valid JSON`. */
  constructor(source: string | Buffer) {
    if (typeof source !== 'string' && !isUtf8(source)) throw new SyntaxError('not encoded in UTF-8');
    this.#text = source.toString();
    try {
      this.value = JSON.parse(this.#text);
    } catch {
      throw new SyntaxError('not valid JSON (RFC 8259)');
    }
    const { members, doubtful } = scan(this.#text);
    if (members !== countMembers(this.value)) throw new SyntaxError('ambiguous: it names a member twice');
    this.#doubtful = doubtful;
  }

  /**
   * The exact integer that a member of the outermost object is, however it is written (`7`, `7.0`, `70e-1`); undefined when it
   * is none of 19 digits, or not there.
   */
  integer(member: string): bigint | undefined {
    const value = (this.value as Readonly<Record<string, unknown>>)[member];
    if (typeof value !== 'number') return undefined;
    const found = this.#doubtful.find(({ name }) => name !== undefined && JSON.parse(name) === member);
    return found === undefined ? BigInt(value) : integerOf(found.source);
  }

  /**
   * The same text with each number that a double does not hold exactly as a string: the JSON form of protobuf takes a string for
   * an int64 as well, and JSON.parse leaves it alone.
   */
  withInexactNumbersQuoted(): string {
    const inexact = this.#doubtful.filter(({ source }) => !isExact(source));
    let quoted = '';
    let end = 0;
    for (const { source, start } of inexact) {
      quoted += `${this.#text.slice(end, start)}"${source}"`;
      end = start + source.length;
    }
    return quoted + this.#text.slice(end);
  }
}

/** Whether a double holds exactly the integer that a number is; or the number is a fraction, which no integer is taken for. */
function isExact(source: string): boolean {
  const value = Number(source);
  return Number.isSafeInteger(value) ? integerOf(source) === BigInt(value) : Math.abs(value) < Number.MAX_SAFE_INTEGER;
}

/** Members of all objects in what JSON.parse read, without recursion: it may be as deep as a text is long. */
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
