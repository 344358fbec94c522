import { type Metadata, ServerInterceptingCall, type ServerInterceptor, type StatusObject } from '@grpc/grpc-js';
import type { Principal } from '../../auth/principal.ts';
import { PlantStoreError, toPlantStoreError } from '../../domain/errors.ts';
import { UNMATCHED } from '../../observe/request.ts';
import type { RequestObserver } from '../../observe/request-observer.ts';
import { OVERLOADED } from '../admission/admission.ts';
import type { Entrant, Place } from '../admission/place.ts';
import { type BaseCall, callerIsKnown, endStream, limitMessages } from './base-call.ts';
import type { Door } from './door.ts';
import { ObservedCall } from './observe.ts';
import { unmatchedCall } from './unmatched.ts';

/** How calls are admitted, timed, ended and observed. */
export interface ServingOptions {
  /** The door of a method, by its path. */
  readonly doorOf: (path: string) => Door;
  /** Gets each call once, when it is over. */
  readonly observer: RequestObserver | undefined;
  /** Seconds for the client to read the end of the answer. */
  readonly idleTimeout: number;
  /** The status for any thrown value, in a call with this request id. */
  readonly statusOf: (thrown: unknown, requestId?: string) => StatusObject;
  /** Ends the connection of a peer: grpc-js cannot make a single stream release its buffers. */
  readonly breakOff: (peer: string) => void;
}

/** The instances' calls to each other. They have their own bounds and authentication and are not client requests. */
const INTERNAL = '/plantstore.internal.';

const SERVED = 'plantstore.call';

// One shared error: a new one for each call would cost a stack trace.
const OVER = new PlantStoreError('CANCELLED', 'the call is over');

/** The interceptor that makes every call of a client a ServedCall, unless nobody serves its method. */
export function serveCalls(options: ServingOptions): ServerInterceptor {
  const serving = { ...options, overloaded: options.statusOf(OVERLOADED) };
  return ({ path, responseStream }, call) => {
    if (path.startsWith(INTERNAL)) return internalCall(call);
    if (path === UNMATCHED) return unmatchedCall(call, options.observer);
    return new ServedCall(call, path, responseStream, serving);
  };
}

/** A call of another instance. It gets a message only once it has shown the writer's secret. */
const internalCall = (call: BaseCall): ServerInterceptingCall =>
  new ServerInterceptingCall(call, {
    sendMessage: (message, next) => {
      callerIsKnown(call);
      next(message);
    },
  });

interface Serving extends ServingOptions {
  /** The status of refusals by admission. Made once, so that a refusal is cheap. */
  readonly overloaded: StatusObject;
}

/** The call of this metadata. */
export const servedCallOf = (metadata: Metadata): ServedCall => metadata.getOpaque(SERVED) as ServedCall;

type Listener = Parameters<ServerInterceptingCall['start']>[0];

/**
 * A call from its metadata to its end. It is admitted and authenticated before its message is read, or refused. It has
 * a place while it is served, but none while its request is incomplete for long. A client that does not read the end of
 * its answer loses its connection.
 *
 * It stands between the library's side of the call and the handler, and serves both sides as one object. The library's
 * builders would take a dozen objects a call for the same. At the end it drops the handler's side: Node holds HTTP/2
 * streams, and everything that they refer to, until the next full garbage collection.
 */
export class ServedCall extends ServerInterceptingCall implements Listener, Entrant {
  readonly protocol = 'grpc';
  /** HTTP/2 bounds the calls of a connection. */
  readonly mayWait = true;
  /** The report of the call, sent at its end. */
  readonly observed: ObservedCall;
  readonly #next: BaseCall;
  readonly #streams: boolean;
  readonly #options: Serving;
  readonly #door: Door;
  /** The handler's side. Undefined once the call is over. */
  #listener: Listener | undefined;
  /** Set until the handler gets the metadata. */
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
   * Aborts when the caller cancels, leaves or passes its deadline before there is an answer, and when a stream is over.
   * Made on first use.
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

  /** Authenticates the caller before anything of its message is read. */
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

  /** Reads the request. Once the request is complete, calls its handler. */
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

  /** `message` is encoded. Once the call is over, nothing is sent and `sent` is never called. */
  override sendMessage(message: Partial<Uint8Array>, sent: () => void): void {
    if (this.#listener === undefined) return;
    // In a stream, the sender itself waits for each message.
    if (!this.#streams) this.#awaitEnd();
    // Messages of gRPC's own services are encoded later, so they are not counted.
    this.observed.bytes += message.byteLength ?? 0;
    this.#next.sendMessage(message, sent);
  }

  override sendStatus(status: Parameters<BaseCall['sendStatus']>[0]): void {
    if (this.#listener === undefined) return;
    this.#awaitEnd();
    this.observed.code ??= status.code;
    this.#next.sendStatus(status);
  }

  /** Runs at the end of every call, however it ends. */
  onCancel(): void {
    clearTimeout(this.#farewell);
    this.#place?.[Symbol.dispose]();
    this.observed.ended(Number(this.#next.getDeadline()));
    // A unary method that has answered has nothing left to abort.
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
    callerIsKnown(this.#next);
    this.#place!.belongTo(principal.owner);
  }

  /** Ends the call before its handler gets it, and ends its stream even if the request is incomplete. */
  #fail(thrown: unknown): void {
    if (this.#listener === undefined || this.observed.code !== undefined) return;
    const { overloaded, statusOf } = this.#options;
    const status = thrown === OVERLOADED ? overloaded : statusOf(thrown, this.observed.requestId);
    this.observed.code = status.code;
    this.observed.failure = toPlantStoreError(thrown);
    this.#next.sendStatus(status);
    endStream(this.#next);
  }

  /** Its answer lasts and is counted elsewhere. Gives the place back. */
  lasts(): void {
    this.#place?.[Symbol.dispose]();
  }

  /** Ends the connection: a client that reads no answer cannot get a status. */
  breakOff(): void {
    this.#options.breakOff(this.#next.getPeer());
  }

  static #breakOff(call: ServedCall): void {
    call.breakOff();
  }
}
