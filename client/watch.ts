import type { Connection } from './connection.ts';
import { ConnectionError } from './errors.ts';
import { EventStreamParser, type StreamEvent } from './event-stream.ts';
import { parseJson } from './json.ts';
import { member, type Plant, plantOf } from './plant.ts';
import { mayRetry, pause, pauseAfter } from './retry.ts';

/** A step of a watch. */
export type Change =
  /** Forget every plant; the state follows. */
  | { readonly type: 'reset' }
  /** A plant of the state, or, with a position, a plant that was added since. */
  | { readonly type: 'added'; readonly plant: Plant; readonly position?: bigint }
  | { readonly type: 'deleted'; readonly id: bigint; readonly position: bigint }
  /** The state is complete, and exact at this position. */
  | { readonly type: 'ready'; readonly position: bigint };

/** Milliseconds of silence after which a stream counts as dead. The service sends something every 15 s. */
const SILENCE = 45_000;

/** Milliseconds before a lost connection is replaced, unless the service says otherwise. */
const RETRY = 1_000;

/** Watches an owner's plants over successive connections. Each begins where the one before it ended. */
export async function* watch(
  connection: Connection,
  after: bigint | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<Change, never> {
  let lastEventId = after === undefined ? '' : `${after}`;
  let retry = RETRY;
  for (let failures = 0; ; ) {
    if (lastEventId === '') yield { type: 'reset' };
    const parser = new EventStreamParser(lastEventId);
    let lost: unknown;
    try {
      for await (const event of events(connection, parser, lastEventId, signal)) {
        failures = 0;
        if (event.type === 'end') break;
        const change = changeOf(event);
        lastEventId = event.lastEventId;
        if (change !== undefined) yield change;
      }
    } catch (error) {
      if (!mayRetry(error)) throw error;
      lost = error;
    }
    retry = parser.retry ?? retry;
    await pause(Math.random() * retry + pauseAfter(++failures, lost), signal);
  }
}

/** The events of one connection. Ends, or throws ConnectionError, when it is lost. */
async function* events(
  connection: Connection,
  parser: EventStreamParser,
  lastEventId: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamEvent> {
  const closed = new AbortController();
  /** Waits for the service, within SILENCE. The time that the caller takes between events does not count. */
  const heard = async <Value>(next: Promise<Value>): Promise<Value> => {
    const timer = setTimeout(() => closed.abort(new Error('the stream fell silent')), SILENCE);
    return await next.finally(() => clearTimeout(timer));
  };
  try {
    const headers = { accept: 'text/event-stream', ...(lastEventId !== '' && { 'last-event-id': lastEventId }) };
    const request = { method: 'GET', path: '/plants', headers, signal, limit: closed.signal };
    const reader = await heard(connection.send(request, async ({ body }) => body!.getReader()));
    const decoder = new TextDecoder();
    const read = () =>
      reader.read().catch((cause) => {
        signal?.throwIfAborted();
        throw new ConnectionError('the stream broke off', { cause });
      });
    for (let part = await heard(read()); !part.done; part = await heard(read()))
      yield* parser.read(decoder.decode(part.value, { stream: true }));
  } finally {
    closed.abort();
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
