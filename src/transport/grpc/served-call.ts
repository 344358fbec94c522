import { type Metadata, ServerInterceptingCall, type ServerInterceptor, type StatusObject } from '@grpc/grpc-js';
import type { Principal } from '../../auth/principal.ts';
import { PlantStoreError, toPlantStoreError } from '../../domain/errors.ts';
import type { RequestObserver } from '../../observe/request-observer.ts';
import { OVERLOADED } from '../admission/admission.ts';
import type { Entrant, Place } from '../admission/place.ts';
import { type BaseCall, endStream, limitMessages } from './base-call.ts';
import type { Door } from './door.ts';
import { ObservedCall } from './observe.ts';

/** Who is let in, how long a call may keep the server waiting, and who hears of it. */
export interface ServingOptions {
  /** How the calls of a method come in, by its path. */
  readonly doorOf: (path: string) => Door;
  /** Told of each call once, when it is over. */
  readonly observer: RequestObserver | undefined;
  /** Seconds in which its client must have taken the end of the answer. */
  readonly idleTimeout: number;
  /** The status for anything thrown, in a call of this request id. */
  readonly statusOf: (thrown: unknown, requestId?: string) => StatusObject;
  /** Ends the connection of a peer: grpc-js cannot make a single stream let go of what it holds. */
  readonly breakOff: (peer: string) => void;
}

/** What the instances say to each other: it has bounds and authentication of its own, and is no request of a client's. */
const INTERNAL = '/plantstore.internal.';

const SERVED = 'plantstore.call';

// One for all calls: an error of its own would cost each a stack trace.
const OVER = new PlantStoreError('CANCELLED', 'the call is over');

/** The interceptor that makes every call a ServedCall, but those between instances. */
export function serveCalls(options: ServingOptions): ServerInterceptor {
  const serving = { ...options, overloaded: options.statusOf(OVERLOADED) };
  return ({ path, responseStream }, call) =>
    path.startsWith(INTERNAL) ? new ServerInterceptingCall(call) : new ServedCall(call, path, responseStream, serving);
}

interface Serving extends ServingOptions {
  /** The status of what is refused for all: made once, as a refusal has to be cheap. */
  readonly overloaded: StatusObject;
}

/** The call that this metadata came with. */
export const servedCallOf = (metadata: Metadata): ServedCall => metadata.getOpaque(SERVED) as ServedCall;

type Listener = Parameters<ServerInterceptingCall['start']>[0];

/**
 * A call from its metadata to its end. It is let in and its caller is known before its message is read, or it is refused. It has a
 * place while it is served, and none while its request does not come to its end. A client that does not take the end of its answer
 * loses its connection.
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
  readonly #next: BaseCall;
  readonly #streams: boolean;
  readonly #options: Serving;
  readonly #door: Door;
  /** The handler's side, until the call is over. */
  #listener: Listener | undefined;
  /** While it waits to be let in. */
  #metadata: Metadata | undefined;
  #place: Place | undefined;
  #isWhole = false;
  #farewell: NodeJS.Timeout | undefined;
  #controller: AbortController | undefined;

  constructor(next: BaseCall, route: string, streams: boolean, options: Serving) {
    super(next);
    this.#next = next;
    this.#streams = streams;
    this.#options = options;
    this.#door = options.doorOf(route);
    if (this.#door.maxMessage !== undefined) limitMessages(next, this.#door.maxMessage);
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
    this.#door.admission.enter(this);
  }

  get isGone(): boolean {
    return this.#listener === undefined;
  }

  get peer(): string {
    return this.#next.getPeer();
  }

  /** Its caller is found out before anything of its message is read. */
  admit(place: Place): void {
    this.#place = place;
    const { authenticate } = this.#door;
    if (authenticate === undefined) {
      place.belongTo(this.peer);
      return;
    }
    try {
      const principal = authenticate(this.#metadata!.get('authorization') as string[]);
      if (!(principal instanceof Promise)) this.#admitCaller(principal);
      else if (place.verifying())
        principal.then(
          (caller) => this.#admitCaller(caller),
          (thrown) => this.#fail(thrown),
        );
      else principal.catch(() => {});
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** What it asked of its place is so: its request is read, or, once that is whole, its handler is called. */
  proceed(): void {
    const listener = this.#listener;
    if (listener === undefined) return;
    if (this.#isWhole) {
      this.observed.run(() => listener.onReceiveHalfClose());
      return;
    }
    const metadata = this.#metadata!;
    this.#metadata = undefined;
    if (this.#door.awaitsRest) this.#place!.awaitRest();
    listener.onReceiveMetadata(metadata);
  }

  refuse(error: PlantStoreError): void {
    this.#fail(error);
  }

  late(): void {
    this.#fail(new PlantStoreError('REQUEST_TIMEOUT', 'the request took too long to arrive'));
  }

  onReceiveMessage(message: unknown): void {
    this.#listener?.onReceiveMessage(message);
  }

  onReceiveHalfClose(): void {
    this.#isWhole = true;
    this.#place!.whole();
  }

  /** `message` is encoded. Nothing is sent any more once the call is over, and nobody waits for it. */
  override sendMessage(message: Partial<Uint8Array>, sent: () => void): void {
    if (this.#listener === undefined) return;
    // Of a stream, each message is waited for by who sends it.
    if (!this.#streams) this.#awaitEnd();
    // Of gRPC's own services, messages are encoded later; they are not counted.
    this.observed.bytes += message.byteLength ?? 0;
    this.#next.sendMessage(message, sent);
  }

  override sendStatus(status: Parameters<BaseCall['sendStatus']>[0]): void {
    if (this.#listener === undefined) return;
    this.#awaitEnd();
    this.observed.code ??= status.code;
    this.#next.sendStatus(status);
  }

  /** At the end of every call, however it ends. */
  onCancel(): void {
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
    this.#farewell =
      this.#farewell?.refresh() ?? setTimeout(ServedCall.#breakOff, this.#options.idleTimeout * 1_000, this);
  }

  #admitCaller(principal: Principal): void {
    this.observed.principal = principal;
    this.#place!.belongTo(principal.owner);
  }

  /** Ends the call before its handler has heard of it, and its stream, whatever of the request is still to come. */
  #fail(thrown: unknown): void {
    if (this.#listener === undefined || this.observed.code !== undefined) return;
    const { overloaded, statusOf } = this.#options;
    const status = thrown === OVERLOADED ? overloaded : statusOf(thrown, this.observed.requestId);
    this.observed.code = status.code;
    this.observed.failure = toPlantStoreError(thrown);
    this.#next.sendStatus(status);
    endStream(this.#next);
  }

  /** Its answer lasts, and is counted elsewhere: it gives its place back. */
  lasts(): void {
    this.#place?.[Symbol.dispose]();
  }

  /** Breaks off its connection: a client that takes no answer cannot be told. */
  breakOff(): void {
    this.#options.breakOff(this.#next.getPeer());
  }

  static #breakOff(call: ServedCall): void {
    call.breakOff();
  }
}
