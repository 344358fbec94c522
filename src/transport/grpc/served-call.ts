import { type Metadata, ServerInterceptingCall, type ServerInterceptor, type StatusObject } from '@grpc/grpc-js';
import { PlantStoreError } from '../../domain/errors.ts';
import type { RequestObserver } from '../../observe/request-observer.ts';
import { type Admission, type Entrant, OVERLOADED } from '../admission.ts';
import { ObservedCall } from './observe.ts';

/** Who is let in, how long a call may keep the server waiting, and who hears of it. */
export interface ServingOptions {
  readonly admission: Pick<Admission, 'enter'>;
  /** Told of each call once, when it is over. Health checks and reflection are not told of. */
  readonly observer: RequestObserver | undefined;
  /** Seconds in which a request must have arrived whole. */
  readonly requestTimeout: number;
  /** Seconds in which its client must have taken the end of the answer. */
  readonly idleTimeout: number;
  /** The status for anything thrown. */
  readonly statusOf: (thrown: unknown) => StatusObject;
  /** Ends the connection of a peer: grpc-js cannot make a single stream let go of what it holds. */
  readonly breakOff: (peer: string) => void;
}

/** Milliseconds that the status of a late call has to reach its caller. */
const FAREWELL = 200;

/** Services of gRPC's own: health, which has to answer whatever the load, and reflection, whose requests are streams. */
const STANDARD = '/grpc.';
/** What the instances say to each other: it has bounds of its own, and is no request of a client's. */
const INTERNAL = '/plantstore.internal.';

const SERVED = 'plantstore.call';

// One for all calls: an error of its own would cost each a stack trace.
const OVER = new PlantStoreError('CANCELLED', 'the call is over');

/** The interceptor that makes every call a ServedCall, but those of gRPC's own services and those between instances. */
export function serveCalls(options: ServingOptions): ServerInterceptor {
  const serving = { ...options, overloaded: options.statusOf(OVERLOADED) };
  return ({ path, responseStream }, call) =>
    path.startsWith(STANDARD) || path.startsWith(INTERNAL)
      ? new ServerInterceptingCall(call)
      : new ServedCall(call, path, responseStream, serving);
}

interface Serving extends ServingOptions {
  /** The status of what is refused. */
  readonly overloaded: StatusObject;
}

/** The call that this metadata came with. */
export const servedCallOf = (metadata: Metadata): ServedCall => metadata.getOpaque(SERVED) as ServedCall;

type NextCall = Parameters<ServerInterceptor>[1];
type Listener = Parameters<ServerInterceptingCall['start']>[0];

/**
 * A call from its metadata to its end. It is let in before its message is read, or refused with OVERLOADED, and has its place until
 * it is over. A client that does not send the rest of its request, or does not take the end of its answer, loses its connection.
 *
 * It stands between the library's part of the call and the handler, and is both sides of it in one object: as functions given to
 * the library's builders, the same takes a dozen objects a call. At the end it lets go of the handler's side, since Node holds
 * HTTP/2 streams, and all that they lead to, until the next full garbage collection.
 */
export class ServedCall extends ServerInterceptingCall implements Listener, Entrant {
  readonly protocol = 'grpc';
  /** HTTP/2 bounds the calls of a connection. */
  readonly mayWait = true;
  /** What is told of it at its end. */
  readonly observed: ObservedCall;
  readonly #next: NextCall;
  readonly #streams: boolean;
  readonly #options: Serving;
  /** The handler's side, until the call is over. */
  #listener: Listener | undefined;
  /** While it waits to be let in. */
  #metadata: Metadata | undefined;
  #place: Disposable | undefined;
  #arrival: NodeJS.Timeout | undefined;
  #farewell: NodeJS.Timeout | undefined;
  #controller: AbortController | undefined;

  constructor(next: NextCall, route: string, streams: boolean, options: Serving) {
    super(next);
    this.#next = next;
    this.#streams = streams;
    this.#options = options;
    this.observed = new ObservedCall(options.observer, route);
  }

  /**
   * Aborted when the caller cancels, goes away or lets its deadline pass before there is an answer, and when a stream is over.
   * Made when it is asked for.
   */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#listener === undefined) this.#controller.abort(OVER);
    }
    return this.#controller.signal;
  }

  override start(listener: Listener): void {
    this.#listener = listener;
    this.#next.start(this);
  }

  onReceiveMetadata(metadata: Metadata): void {
    this.observed.received(metadata);
    metadata.setOpaque(SERVED, this);
    this.#metadata = metadata;
    this.#options.admission.enter(this);
  }

  get isGone(): boolean {
    return this.#listener === undefined;
  }

  admit(place: Disposable): void {
    this.#place = place;
    this.#arrival = setTimeout(ServedCall.#late, this.#options.requestTimeout * 1_000, this);
    const metadata = this.#metadata!;
    this.#metadata = undefined;
    this.#listener!.onReceiveMetadata(metadata);
  }

  refuse(): void {
    if (this.#listener === undefined) return;
    this.observed.failure = OVERLOADED;
    this.#end(this.#options.overloaded);
  }

  onReceiveMessage(message: unknown): void {
    this.#listener?.onReceiveMessage(message);
  }

  /** The request is whole: the handler is called. */
  onReceiveHalfClose(): void {
    clearTimeout(this.#arrival);
    this.observed.run(() => this.#listener?.onReceiveHalfClose());
  }

  /** `message` is encoded. Nothing is sent any more once the call is over, and nobody waits for it. */
  override sendMessage(message: Uint8Array, sent: () => void): void {
    if (this.#listener === undefined) return;
    // Of a stream, each message is waited for by who sends it.
    if (!this.#streams) this.#awaitEnd();
    this.observed.bytes += message.byteLength;
    this.#next.sendMessage(message, sent);
  }

  override sendStatus(status: Parameters<NextCall['sendStatus']>[0]): void {
    if (this.#listener === undefined) return;
    this.#awaitEnd();
    this.observed.code ??= status.code;
    this.#next.sendStatus(status);
  }

  /** At the end of every call, however it ends. */
  onCancel(): void {
    clearTimeout(this.#arrival);
    clearTimeout(this.#farewell);
    this.#place?.[Symbol.dispose]();
    this.observed.ended(Number(this.#next.getDeadline()));
    // Nobody waits any more for what a method that has answered would do.
    if (this.#streams || this.observed.code === undefined) this.#controller?.abort(OVER);
    this.#listener?.onCancel();
    this.#listener = undefined;
    this.#metadata = undefined;
  }

  #awaitEnd(): void {
    clearTimeout(this.#arrival);
    this.#farewell =
      this.#farewell?.refresh() ?? setTimeout(ServedCall.#breakOff, this.#options.idleTimeout * 1_000, this);
  }

  /** Ends the call before its handler has heard of it. */
  #end(status: StatusObject): void {
    this.observed.code ??= status.code;
    this.#next.sendStatus(status);
  }

  static #late(call: ServedCall): void {
    const late = new PlantStoreError('REQUEST_TIMEOUT', 'the request took too long to arrive');
    call.observed.failure = late;
    call.#end(call.#options.statusOf(late));
    setTimeout(ServedCall.#breakOff, FAREWELL, call);
  }

  static #breakOff(call: ServedCall): void {
    call.#options.breakOff(call.#next.getPeer());
  }
}
