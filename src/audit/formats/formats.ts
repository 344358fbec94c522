import type { LoggedEvent } from '../../log/event/event.ts';
import { eventJson, publicEventJson } from './event-json.ts';
import { decodeEvents, encodeEvents, encodePublicEvents } from './event-protobuf.ts';
import { parseEvent } from './parse-event.ts';

/** A lossless format for export and import of the log. */
export interface Format {
  /** Encodes a part of an export. An export is the concatenation of its parts. */
  encode(events: readonly LoggedEvent[]): string | Uint8Array;
  /** Encodes the events without their contents. Safe to publish, but not decodable. */
  encodePublic(events: readonly LoggedEvent[]): string | Uint8Array;
  /**
   * Decodes an export, in chunks of any size, to batches of events. Rejects at the first invalid event, and says where.
   */
  decode(chunks: AsyncIterable<Uint8Array>): AsyncIterable<LoggedEvent[]>;
}

/** The formats by name. */
export const FORMATS = {
  /** One JSON object per line. */
  ndjson: {
    encode: (events) => events.map((event) => `${eventJson(event)}\n`).join(''),
    encodePublic: (events) => events.map((event) => `${publicEventJson(event)}\n`).join(''),
    decode: decodeLines,
  },
  /** plantstore.v1.Record messages (public: plantstore.v1.Event), each after its length. */
  protobuf: { encode: encodeEvents, encodePublic: encodePublicEvents, decode: decodeEvents },
} as const satisfies Record<string, Format>;

/**
 * Decodes an export in any format. The first two bytes tell the format: JSON begins with `{"`, protobuf with a length
 * and the tag of the first field. Rejects as Format.decode does.
 */
export async function* decodeExport(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<LoggedEvent[]> {
  const iterator = chunks[Symbol.asyncIterator]();
  let beginning = new Uint8Array();
  let isOver = false;
  while (beginning.length < 2 && !isOver) {
    const { done, value } = await iterator.next();
    if (done === true) isOver = true;
    else beginning = Buffer.concat([beginning, value]);
  }
  const format = beginning[0] === 0x7b && beginning[1] === 0x22 ? FORMATS.ndjson : FORMATS.protobuf;
  yield* format.decode(withBeginning(beginning, iterator));
}

async function* withBeginning(beginning: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (beginning.length > 0) yield beginning;
  yield* { [Symbol.asyncIterator]: () => rest };
}

async function* decodeLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<LoggedEvent[]> {
  let count = 0;
  for await (const lines of linesOf(chunks))
    yield lines.map((line) => {
      count++;
      try {
        return parseEvent(line);
      } catch (error) {
        throw new Error(`line ${count} of the export is not an event: ${(error as Error).message}`, { cause: error });
      }
    });
}

/** Most characters of one line: more than the longest that an export contains. */
const MAX_LINE = 64 * 1024;

/** Splits at line feeds only: names may contain other line breaks, at which node:readline would split too. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let rest = '';
  for await (const chunk of chunks) {
    const [first = '', ...more] = decoder.decode(chunk, { stream: true }).split('\n');
    const lines = [rest + first, ...more];
    rest = lines.pop()!;
    if (rest.length > MAX_LINE) throw new Error('a line of the export is longer than any event');
    if (lines.length > 0) yield lines;
  }
  if (rest !== '' || decoder.decode() !== '') throw new Error('the export ends in the middle of a line');
}
