import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PlantSchema } from '../../../gen/plantstore/v1/plant_pb.ts';
import { type PlantStoreError, toPlantStoreError } from '../../domain/errors.ts';
import { derivedOnce } from '../../plants/view.ts';
import type { Step } from '../../plants/watch/channel.ts';
import type { Watch, WatchReader } from '../../plants/watch/watch.ts';
import { connectionOf } from '../http/connection.ts';
import { errorBody } from '../http/error-reply.ts';
import { EVENT_STREAM, UNBUFFERED } from '../http/headers.ts';
import { compileEncoder, type Fields } from './encode.ts';

/** Milliseconds after which a client that lost its stream reconnects. */
const RETRY_PAUSE = 1_000;

/** A comment: clients ignore it, and proxies see that the stream is alive. */
const COMMENT = Buffer.from(':\n\n');

const BEGINNING = Buffer.from(`retry: ${RETRY_PAUSE}\n\n`);

const encodePlant = compileEncoder(PlantSchema);

/** The text of a step as an event. With an `id`, a client can resume after the event. `reset` clears the last id. */
function textOf(step: Step): string {
  switch (step.type) {
    case 'added':
      return `event: added\n${idOf(step.position)}data: ${encodePlant(step.plant as object as Fields)}\n\n`;
    case 'deleted':
      return `event: deleted\n${idOf(step.position)}data: {"id":${step.id}}\n\n`;
    case 'ready':
      return `event: ready\n${idOf(step.position)}data: {"position":${step.position}}\n\n`;
    case 'reset':
      return 'event: reset\nid:\ndata: {}\n\n';
  }
}

const idOf = (position: number | undefined): string => (position === undefined ? '' : `id: ${position}\n`);

const bytesOf = (steps: readonly Step[]): Buffer => Buffer.from(steps.map(textOf).join(''));

/** The bytes of steps that are sent together: encoded once for all clients that get the same steps. */
const encodedSteps = derivedOnce(bytesOf);

/** The same as a chunk (RFC 9112, section 7.1), without which some clients wait until a block is full. */
const chunkOf = derivedOnce((steps: readonly Step[]) => {
  const bytes = bytesOf(steps);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
});

/** Digits of a position that is exact as a number. */
const POSITION = /^\d{1,15}$/;

/** The position of a Last-Event-ID; one before all others for any other text. Undefined: no such header. */
function resumePosition(lastEventId: string | string[] | undefined): number | undefined {
  if (lastEventId === undefined || lastEventId === '') return undefined;
  return POSITION.test(String(lastEventId)) ? Number(lastEventId) : Number.NEGATIVE_INFINITY;
}

/**
 * Answers a request with an event stream (WHATWG HTML, section 9.2) of the watch that `open` opens. The connection ends
 * with it. All clients that get the same steps get one buffer. Resolves once the stream has begun. Rejects with
 * PlantStoreError if nothing has been sent.
 */
export async function streamEvents(
  open: (reader: WatchReader) => Watch,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const stream = new EventStream(request, reply.raw);
  const watch = open(stream);
  if (request.method === 'HEAD') {
    watch.close();
    reply.headers(HEADERS).send();
    return;
  }
  const steps = await watch.begin(resumePosition(request.headers['last-event-id']));
  if (stream.refusal !== undefined) throw stream.refusal;
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
  void stream.run(watch, steps);
}

const HEADERS = {
  'content-type': EVENT_STREAM,
  'cache-control': 'no-store',
  ...UNBUFFERED,
};

class EventStream implements WatchReader {
  /** Why the watch is over although nothing has been sent. */
  refusal: PlantStoreError | undefined;
  readonly #request: FastifyRequest;
  readonly #response: ServerResponse;
  /** Set once the whole beginning is sent. */
  #watch: Watch | undefined;
  #socket: Socket | undefined;

  constructor(request: FastifyRequest, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
  }

  get unsent(): number {
    return this.#response.writableLength;
  }

  setHeld(bytes: number): void {
    connectionOf(this.#request.raw.socket).setHeld(bytes);
  }

  /** Sends the beginning of the watch as fast as the client reads it, and then the news. */
  async run(watch: Watch, beginning: AsyncIterable<readonly Step[]>): Promise<void> {
    const response = this.#response;
    response.on('close', () => watch.close());
    if (response.closed) watch.close();
    response.setHeader('connection', 'close');
    response.writeHead(200, HEADERS);
    response.write(BEGINNING);
    try {
      for await (const steps of beginning) {
        // The watch may have ended since it gave these.
        if (response.closed || response.writableEnded) return;
        if (steps.length === 0 || response.write(encodedSteps(steps))) continue;
        connectionOf(this.#request.raw.socket).countUnread();
        await drained(response);
      }
    } catch (thrown) {
      // No effect if the watch has ended by itself: an answer that ended twice would end the process.
      watch.end(toPlantStoreError(thrown));
      return;
    }
    const { socket } = response;
    if (socket === null) return;
    this.#socket = socket;
    socket.on('drain', () => this.news());
    this.#watch = watch;
    this.news();
  }

  news(): void {
    if (this.#watch === undefined || this.#socket!.writableNeedDrain) return;
    const steps = this.#watch.take();
    // Writes to the socket: a write to the response would wait for the end of this turn, so that its cost could not be
    // measured.
    if (steps.length > 0) this.#socket!.write(this.#response.chunkedEncoding ? chunkOf(steps) : encodedSteps(steps));
    connectionOf(this.#socket!).countUnread();
  }

  quiet(): void {
    if (!this.#response.writableNeedDrain && this.#response.headersSent) this.#response.write(COMMENT);
  }

  /** Tells the reason, except for a 503 (clients reconnect), or to a client that does not read (a reset). */
  ended(why: PlantStoreError): void {
    const response = this.#response;
    if (!response.headersSent) {
      this.refusal = why;
      return;
    }
    this.#request.failure = why;
    // A reset, since a reader in Node that has paused its parser takes an end for an assertion (nodejs/undici#5360).
    if (why.reason === 'WATCH_TOO_SLOW') response.socket?.resetAndDestroy();
    else if (why.status === 503) response.end();
    else response.end(`event: end\ndata: ${errorBody(why)}\n\n`);
  }
}

/** Resolves when more can be written, or when nothing can be written any more. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
