import type { Connection } from './connection.ts';
import { ConnectionError, messageOf, type PlantStoreError } from './errors.ts';
import { EventStreamParser, type StreamEvent } from './event-stream.ts';
import { parseJson } from './json.ts';
import { member, type Plant, plantOf } from './plant.ts';
import { isPassing, pause, pauseAfter } from './retry.ts';

/** A step of a watch. */
export type Change =
  /** Forget every plant; the state follows. The first one comes at once, before the service has answered. */
  | { readonly type: 'reset' }
  /** A plant of the state, or, with a position, a plant that was added since. */
  | { readonly type: 'added'; readonly plant: Plant; readonly position?: bigint }
  | { readonly type: 'deleted'; readonly id: bigint; readonly position: bigint }
  /** The state is complete, and exact at this position. */
  | { readonly type: 'ready'; readonly position: bigint };

/** Milliseconds of silence after which a stream counts as dead. The service sends something every 15 s. */
const SILENCE_LIMIT = 45_000;

/** Milliseconds before a lost connection is replaced, unless the service says otherwise. */
const RETRY_PAUSE = 1_000;

/**
 * Bytes of a stream that may wait for the caller. Up to that, the stream is read as fast as it comes: the fetch of Node
 * ends the process when a stream ends that is not being read (nodejs/undici#5360).
 */
const READ_AHEAD = 16 * 1024 * 1024;

/** What a watch tells of its connections. */
export interface WatchListeners {
  /** Called when a connection is open. */
  readonly onConnect?: (() => void) | undefined;
  /** Called with why an attempt or a connection ended, before the next attempt. */
  readonly onDisconnect?: ((error: PlantStoreError | ConnectionError) => void) | undefined;
}

/**
 * Watches an owner's plants until the signal aborts or the caller ends it, which ends a next() that waits for the
 * service, too.
 */
export function watch(
  connection: Connection,
  after: bigint | undefined,
  signal: AbortSignal | undefined,
  listeners: WatchListeners,
): AsyncGenerator<Change, void> {
  const stop = new AbortController();
  const signals = signal === undefined ? [stop.signal] : [signal, stop.signal];
  const changes = untilStopped(changesOver(connection, after, AbortSignal.any(signals), listeners), stop.signal);
  const { return: end, throw: fail } = changes;
  // By itself, a generator takes these up only after the next() before them.
  changes.return = (value) => {
    stop.abort();
    return end.call(changes, value);
  };
  changes.throw = (error) => {
    stop.abort();
    return fail.call(changes, error);
  };
  return changes;
}

/** The changes, until the caller ends them: a next() that waited finds the end, and no error. */
async function* untilStopped(changes: AsyncIterable<Change>, stopped: AbortSignal): AsyncGenerator<Change, void> {
  try {
    yield* changes;
  } catch (error) {
    if (!stopped.aborted || error !== stopped.reason) throw error;
  }
}

/** The changes over successive connections. Each begins where the one before it ended. */
async function* changesOver(
  connection: Connection,
  after: bigint | undefined,
  signal: AbortSignal,
  { onConnect, onDisconnect }: WatchListeners,
): AsyncGenerator<Change, never> {
  let lastEventId = after === undefined ? '' : `${after}`;
  let retry = RETRY_PAUSE;
  let failures = 0;
  const opened = () => {
    failures = 0;
    onConnect?.();
  };
  for (;;) {
    if (lastEventId === '') yield { type: 'reset' };
    const parser = new EventStreamParser(lastEventId);
    let lost: PlantStoreError | ConnectionError = new ConnectionError('the stream ended');
    try {
      for await (const event of events(connection, parser, lastEventId, signal, opened)) {
        if (event.type === 'end') {
          lost = new ConnectionError(`the service ended the stream: ${messageOf(event.data)}`);
          break;
        }
        const change = changeOf(event);
        lastEventId = event.lastEventId;
        if (change !== undefined) yield change;
      }
    } catch (error) {
      if (!isPassing(error)) throw error;
      lost = error;
    }
    onDisconnect?.(lost);
    retry = parser.retry ?? retry;
    await pause(Math.random() * retry + pauseAfter(++failures, lost), signal);
  }
}

/** The events of one connection, which `opened` tells of. Ends, or throws ConnectionError, when it is lost. */
async function* events(
  connection: Connection,
  parser: EventStreamParser,
  lastEventId: string,
  signal: AbortSignal,
  opened: () => void,
): AsyncGenerator<StreamEvent> {
  const closed = new AbortController();
  /** Waits for the service, within SILENCE_LIMIT. The time that the caller takes between events does not count. */
  const heard = async <Value>(next: Promise<Value>): Promise<Value> => {
    const timer = setTimeout(() => closed.abort(new Error('the stream fell silent')), SILENCE_LIMIT);
    return await next.finally(() => clearTimeout(timer));
  };
  try {
    const headers = { accept: 'text/event-stream', ...(lastEventId !== '' && { 'last-event-id': lastEventId }) };
    const request = { method: 'GET', path: '/plants', headers, signal, limit: closed.signal, timeout: SILENCE_LIMIT };
    const reader = await heard(connection.send(request, readerOf));
    opened();
    const decoder = new TextDecoder();
    const read = () =>
      reader.read().catch((cause) => {
        signal.throwIfAborted();
        throw new ConnectionError('the stream broke off', { cause });
      });
    for await (const part of readAhead(() => heard(read()), signal))
      yield* parser.read(decoder.decode(part, { stream: true }));
  } finally {
    closed.abort();
  }
}

/** The reader of an event stream. Throws ConnectionError for another page, such as that of a proxy. */
async function readerOf({ headers, body }: Response): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const type = headers.get('content-type') ?? 'nothing';
  if (!type.startsWith('text/event-stream'))
    throw new ConnectionError(`the answer is no event stream, but ${type}; does url lead to the service?`);
  return body!.getReader();
}

/** What `read` gives, up to READ_AHEAD ahead of the caller. If it fails, what came before still comes first. */
async function* readAhead(
  read: () => Promise<{ done: boolean; value?: Uint8Array | undefined }>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  let isDone = false;
  let reading: Promise<void> | undefined;
  const fill = () => {
    if (isDone || reading !== undefined || bytes >= READ_AHEAD) return;
    reading = read().then(({ value }) => {
      reading = undefined;
      isDone = value === undefined;
      if (value === undefined) return;
      parts.push(value);
      bytes += value.length;
      fill();
    });
    // The caller meets the failure after the parts.
    reading.catch(() => {});
  };
  for (fill(); ; fill()) {
    signal.throwIfAborted();
    const part = parts.shift();
    if (part !== undefined) {
      bytes -= part.length;
      yield part;
    } else if (isDone) return;
    else await reading;
  }
}

/** Undefined for an unknown kind of event, which a newer service may send. */
function changeOf({ type, data, lastEventId }: StreamEvent): Change | undefined {
  switch (type) {
    case 'reset':
      return { type };
    case 'added':
      return { type, plant: plantOf(parseJson(data)), ...(lastEventId !== '' && { position: BigInt(lastEventId) }) };
    case 'deleted':
      return { type, id: member(parseJson(data), 'id', 'bigint'), position: BigInt(lastEventId) };
    case 'ready':
      return { type, position: member(parseJson(data), 'position', 'bigint') };
    default:
      return undefined;
  }
}
