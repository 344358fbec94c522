import { WireType } from '@bufbuild/protobuf/wire';

const REPLACEMENT = '\ufffd';

/**
 * Reads protobuf's binary encoding in its canonical form: the shortest varints, and well-formed UTF-8. Throws
 * RangeError for everything else. A library's reader accepts and repairs what this one refuses.
 */
export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;
  #end: number;
  /** The wire type of the last tag. */
  #type = 0;
  /** The halves of the last varint. */
  #low = 0;
  #high = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#end = bytes.length;
  }

  /** Whether no field follows in the current message. */
  get isAtEnd(): boolean {
    return this.#at === this.#end;
  }

  /** Reads a tag. Returns the number of the field. */
  tag(): number {
    this.#varint();
    this.#type = this.#low & 7;
    const number = this.#low >>> 3;
    if (this.#high !== 0 || number === 0) throw malformed();
    return number;
  }

  /** The value of an int64 or int32 field, if a number holds it exactly. */
  number(): number {
    this.#expect(WireType.Varint);
    this.#varint();
    const value = (this.#high | 0) * 0x1_0000_0000 + this.#low;
    if (!Number.isSafeInteger(value)) throw malformed();
    return value;
  }

  int64(): bigint {
    this.#expect(WireType.Varint);
    this.#varint();
    if (this.#high === 0) return BigInt(this.#low);
    return BigInt.asIntN(64, (BigInt(this.#high) << 32n) | BigInt(this.#low));
  }

  text(): string {
    const start = this.#span();
    const text = this.#bytes.toString('utf8', start, this.#at);
    if (text.includes(REPLACEMENT) && !Buffer.from(text).equals(this.#bytes.subarray(start, this.#at)))
      throw malformed();
    return text;
  }

  /** The value of a bytes field: a part of the bytes that are read. */
  bytes(): Uint8Array {
    const start = this.#span();
    return this.#bytes.subarray(start, this.#at);
  }

  /** Enters the message in a field, whose fields are read until `leave`. Returns what `leave` needs. */
  enter(): number {
    const start = this.#span();
    const outer = this.#end;
    this.#end = this.#at;
    this.#at = start;
    return outer;
  }

  /** Goes on after a message that was read to its end. */
  leave(outer: number): void {
    this.#end = outer;
  }

  skip(): void {
    if (this.#type === WireType.Varint) this.#varint();
    else if (this.#type === WireType.LengthDelimited) this.#span();
    else if (this.#type === WireType.Bit64) this.#advance(8);
    else if (this.#type === WireType.Bit32) this.#advance(4);
    else throw malformed();
  }

  #expect(type: number): void {
    if (this.#type !== type) throw malformed();
  }

  /** Passes over a value with its length before it. Returns where it starts. */
  #span(): number {
    this.#expect(WireType.LengthDelimited);
    this.#varint();
    if (this.#high !== 0) throw malformed();
    const start = this.#at;
    this.#advance(this.#low);
    return start;
  }

  #advance(length: number): void {
    this.#at += length;
    if (this.#at > this.#end) throw malformed();
  }

  #varint(): void {
    if (this.#at === this.#end) throw malformed();
    const first = this.#bytes[this.#at]!;
    if (first > 127) this.#longVarint();
    else {
      this.#at++;
      this.#low = first;
      this.#high = 0;
    }
  }

  #longVarint(): void {
    let low = 0;
    let high = 0;
    let shift = 0;
    let byte = 0;
    do {
      if (this.#at === this.#end || shift > 63) throw malformed();
      byte = this.#bytes[this.#at++]!;
      const bits = byte & 127;
      if (shift < 28) low |= bits << shift;
      else if (shift > 28) high |= bits << (shift - 32);
      else {
        low |= bits << 28;
        high = bits >>> 4;
      }
      shift += 7;
    } while (byte > 127);
    // A longer form than needed ends with a zero; the tenth byte has one bit.
    if (byte === 0 || (shift > 63 && byte > 1)) throw malformed();
    this.#low = low >>> 0;
    this.#high = high >>> 0;
  }
}

const malformed = (): RangeError => new RangeError('its bytes, or those of its content, are malformed');
