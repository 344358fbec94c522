import { isUtf8 } from 'node:buffer';
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
  const notAnEvent = (why: string, cause?: unknown) =>
    new Error(`line ${count} of the export is not an event: ${why}`, { cause });
  for await (const bytes of wholeLines(chunks)) {
    const invalid = invalidLine(bytes);
    if (invalid !== undefined) {
      count += invalid;
      throw notAnEvent('it is not UTF-8');
    }
    yield UTF_8.decode(bytes)
      .split('\n')
      .map((line) => {
        count++;
        try {
          return parseEvent(line);
        } catch (error) {
          throw notAnEvent((error as Error).message, error);
        }
      });
  }
}

const UTF_8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** The number of the first of these lines, from 1 up, that is not UTF-8. Undefined: none. */
function invalidLine(bytes: Uint8Array): number | undefined {
  if (isUtf8(bytes)) return undefined;
  for (let number = 1, from = 0; ; number++) {
    const end = bytes.indexOf(LINE_FEED, from);
    if (end < 0 || !isUtf8(bytes.subarray(from, end))) return number;
    from = end + 1;
  }
}

const LINE_FEED = 0x0a;

/** Most bytes of one line: more than the longest that an export contains. */
const MAX_LINE = 64 * 1024;

/**
 * One or more whole lines at a time, without the last line feed. Splits at line feeds only: names may contain other
 * line breaks, at which node:readline would split too.
 */
async function* wholeLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(LINE_FEED);
    if (end >= 0) {
      yield Buffer.concat([...rest, chunk.subarray(0, end)]);
      rest = [];
      restBytes = 0;
    }
    rest.push(chunk.subarray(end + 1));
    restBytes += chunk.length - (end + 1);
    if (restBytes > MAX_LINE) throw new Error('a line of the export is longer than any event');
  }
  if (restBytes > 0) throw new Error('the export ends in the middle of a line');
}
