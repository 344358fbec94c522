/** The types of HTTP/2 frames (RFC 9113, section 6) that are told apart. */
export const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, windowUpdate: 8 } as const;
/** Their flags. */
export const FLAG = { ack: 0x1, endStream: 0x1, endHeaders: 0x4 } as const;

/** A frame. */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.alloc(9 + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  bytes.set(payload, 9);
  return bytes;
}

/** A block of header fields (RFC 7541) without any state: each is a literal that no table keeps. */
export const headerBlock = (fields: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat(Object.entries(fields).flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]));

/** A field that the table of a connection keeps, as its last one. */
export function keptField(name: string, value: string): Buffer {
  const field = headerBlock({ [name]: value });
  field[0] = 0x40;
  return field;
}
/** The field that was kept last, in one byte (RFC 7541, section 6.1). */
export const LAST_FIELD = Buffer.of(0x80 | 62);

/** A string literal without Huffman code (RFC 7541, section 5.2). */
const text = (value: string): Buffer => Buffer.concat([length(value.length), Buffer.from(value, 'latin1')]);

const PREFIX = 0x7f;

function length(value: number): Buffer {
  if (value < PREFIX) return Buffer.of(value);
  const bytes = [PREFIX];
  let rest = value - PREFIX;
  for (; rest >= 0x80; rest >>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** Finds the frames in the bytes of a connection, as they come in. */
export class FrameReader {
  readonly #found: (type: number, flags: number, stream: number) => void;
  readonly #head = Buffer.alloc(9);
  #have = 0;
  /** Bytes of a payload that are still to come. */
  #skip = 0;

  /** `found` hears of each frame. Payloads are not looked at. */
  constructor(found: (type: number, flags: number, stream: number) => void) {
    this.#found = found;
  }

  /** Reads so many bytes of a buffer. */
  read(buffer: Buffer, end: number): void {
    for (let at = 0; at < end; ) {
      const skipped = Math.min(this.#skip, end - at);
      this.#skip -= skipped;
      at += skipped;
      if (at === end) return;
      this.#head[this.#have++] = buffer[at++]!;
      if (this.#have < 9) continue;
      this.#have = 0;
      this.#skip = this.#head.readUIntBE(0, 3);
      this.#found(this.#head[3]!, this.#head[4]!, this.#head.readUInt32BE(5));
    }
  }
}
