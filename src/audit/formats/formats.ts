import type { LoggedEvent } from '../../log/event/event.ts';
import { eventJson, publicEventJson } from './event-json.ts';
import { decodeEvents, encodeEvents, encodePublicEvents } from './event-protobuf.ts';
import { parseEvent } from './parse-event.ts';

/** A form in which the log is exported and imported, without loss. */
export interface Format {
  /** A part of an export; an export is its parts one after the other. */
  encode(events: readonly LoggedEvent[]): string | Uint8Array;
  /** The events alone, without what they say: what may be shown to anybody. Nothing decodes it. */
  encodePublic(events: readonly LoggedEvent[]): string | Uint8Array;
  /** The events of an export, cut into chunks anywhere, in batches. Rejects at what is no event, and says where. */
  decode(chunks: AsyncIterable<Uint8Array>): AsyncIterable<LoggedEvent[]>;
}

/** The forms by their names. */
export const FORMATS = {
  /** One JSON object a line. */
  ndjson: {
    encode: (events) => events.map((event) => `${eventJson(event)}\n`).join(''),
    encodePublic: (events) => events.map((event) => `${publicEventJson(event)}\n`).join(''),
    decode: decodeLines,
  },
  /** plantstore.v1.Record messages (in public: plantstore.v1.Event), each with its length before it. */
  protobuf: { encode: encodeEvents, encodePublic: encodePublicEvents, decode: decodeEvents },
} as const satisfies Record<string, Format>;

/**
 * The events of an export in any of the formats, which its first two bytes tell: a line begins with `{"`, and of a protobuf message
 * the length and the tag of its first field. Rejects as Format.decode does.
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
        throw new Error(`line ${count} of the export is no event: ${(error as Error).message}`, { cause: error });
      }
    });
}

/** Characters that one line may have: more than the longest that can be written. */
const MAX_LINE = 64 * 1024;

/** Lines end with a line feed and nothing else: names may hold other breaks, which node:readline would take for line ends. */
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
