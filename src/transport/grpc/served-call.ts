import { constants, type ServerHttp2Stream } from 'node:http2';
import { performance } from 'node:perf_hooks';
import type { DescMessage } from '@bufbuild/protobuf';
import {
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptor,
  status as Status,
  type StatusObject,
} from '@grpc/grpc-js';
import type { Authenticate } from '../../auth/authenticator.ts';
import type { Principal } from '../../auth/principal.ts';
import type { StreamingCall } from '../../call.ts';
import { PlantStoreError, toPlantStoreError } from '../../domain/errors.ts';
import { codeName, requestIdOf, UNMATCHED } from '../../observe/request.ts';
import type { RequestObserver } from '../../observe/telemetry.ts';
import type { RequestSpan } from '../../observe/tracing.ts';
import type { Admission } from '../admission/admission.ts';
import { RequestPermit } from '../admission/request-permit.ts';
import { readMessage } from '../call-limits.ts';
import { connectionOf, type GrpcConnection, type WaitingCall } from './connection.ts';
import { type CallRefusal, type GrpcConnections, INTERNAL, UNCOMPRESSED } from './connections.ts';

/** How the calls of a method are served. */
export interface Serving {
  /** Authenticates a caller by the metadata alone. Without it anyone may call, and no call takes a permit. */
  readonly authenticate?: Authenticate;
  /** Whether a call asks for the health of the instance: it must be answered under any load. */
  readonly isProbe?: true;
  /** Answers a call. Undefined: the library's handler does. */
  readonly answer?: Answer;
  /** The type of the request. The library does not decode it: it would refuse a malformed one without a reason. */
  readonly input?: DescMessage;
}

/** Answers a whole request, by `sendMessage` and `sendStatus` of its call. If it rejects, the call fails. */
export type Answer = (request: object, call: ServedCall) => Promise<void>;

/** How calls are admitted, timed, ended and observed. */
export interface ServingOptions {
  readonly servingOf: (path: string) => Serving;
  readonly admission: Admission;
  readonly connections: GrpcConnections;
  /** Gets each call once, when it is over. */
  readonly observer: RequestObserver | undefined;
  /** Seconds for a request to arrive completely. */
  readonly requestTimeout: number;
  /** Seconds for the client to read a message of a stream, or the end of the answer. */
  readonly idleTimeout: number;
  /** The status for any thrown value, in a call with this request id. */
  readonly statusOf: (thrown: unknown, requestId?: string) => StatusObject;
}

/** Milliseconds for a client to read the rest of an answer, and its status, once its deadline has passed. */
const READ_GRACE = 1_000;

const NOT_ONE = { code: Status.UNIMPLEMENTED, details: 'the call must have one request message', metadata: null };

// Made once, they cost nothing a call.
const OVER = new PlantStoreError('CANCELLED', 'the call has ended');
const TIMED_OUT = new PlantStoreError('REQUEST_TIMEOUT', 'the request took too long to arrive');

/** The interceptor that makes every call but those of other instances a ServedCall. */
export const serveCalls =
  (options: ServingOptions): ServerInterceptor =>
  (method, call) =>
    method.path.startsWith(INTERNAL) && options.connections.isInternal(streamOf(call))
      ? new ServerInterceptingCall(call)
      : new ServedCall(call, method, options);

type Listener = Parameters<ServerInterceptingCall['start']>[0];
type PartialStatusObject = Parameters<ServerInterceptingCall['sendStatus']>[0];

/**
 * A call from its metadata to its end. It waits for its turn, is authenticated, read, and then takes a permit; or it is
 * refused. If a client does not read the end of its answer, its stream is closed: soon after the deadline, if there is
 * one.
 *
 * It stands between the library's side of the call and the method, and serves both sides as one object. The library's
 * builders and handlers would take a dozen objects a call for the same, a writable stream among them. At the end it
 * drops the handler's side: Node holds HTTP/2 streams, and everything that they refer to, until the next full garbage
 * collection.
 */
export class ServedCall extends ServerInterceptingCall implements Listener, WaitingCall, StreamingCall {
  since = 0;
  replayed = false;
  readonly isProbe: boolean;
  readonly #next: BaseCall;
  /** Whether the answer is a stream, and the request. */
  readonly #streams: boolean;
  readonly #asksInStream: boolean;
  readonly #options: ServingOptions;
  readonly #serving: Serving;
  readonly #refusal: CallRefusal | undefined;
  readonly #route: string;
  readonly #begun = performance.now();
  #principal: Principal | undefined;
  #span: RequestSpan | undefined;
  #requestId: string | undefined;
  #bytes = 0;
  #failure: PlantStoreError | undefined;
  /** The google.rpc.Code of the answer. Undefined while there is none. */
  #code: number | undefined;
  /** The side of the library's handler. Undefined once the call is over. */
  #listener: Listener | undefined;
  #request: object | undefined;
  #metadata: Metadata | undefined;
  #connection: GrpcConnection | undefined;
  readonly #permit = new RequestPermit();
  /** Ends a call whose request is not complete in time, and later one whose answer is not read in time. */
  #timer: NodeJS.Timeout | undefined;
  #isAnswering = false;
  #sent: (() => void) | undefined;
  #controller: AbortController | undefined;

  constructor(next: BaseCall, { path: route, requestStream, responseStream }: Method, options: ServingOptions) {
    super(next);
    this.#next = next;
    this.#streams = responseStream;
    this.#asksInStream = requestStream;
    this.#options = options;
    this.#serving = options.servingOf(route);
    this.#refusal = options.connections.refusalOf(streamOf(next));
    this.isProbe = this.#serving.isProbe === true && this.#refusal === undefined;
    this.#route = this.#refusal?.isUnmatched ? UNMATCHED : route;
  }

  /** Aborts when the caller leaves, or its deadline passes, before the answer, and when a stream is over. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#listener === undefined) this.#controller.abort(OVER);
    }
    return this.#controller.signal;
  }

  /** The caller, once it is authenticated. */
  get principal(): Principal {
    return this.#principal!;
  }

  /** The client's `x-request-id` if it is short and plain, otherwise a new one. Made on first use. */
  get #id(): string {
    this.#requestId ??= requestIdOf(this.#metadata?.get('x-request-id')[0]);
    return this.#requestId;
  }

  get #about() {
    return { protocol: 'grpc', method: 'POST', route: this.#route } as const;
  }

  get idempotencyKey(): readonly string[] | undefined {
    const keys = this.#metadata?.get('idempotency-key') as string[] | undefined;
    return keys?.length === 0 ? undefined : keys;
  }

  override start(listener: Listener): void {
    this.#listener = listener;
    this.#next.start(this);
  }

  onReceiveMetadata(metadata: Metadata): void {
    this.#metadata = metadata;
    this.#span = this.#options.observer?.tracing?.begin({ ...this.#about, headers: metadata.getMap() });
    const stream = streamOf(this.#next);
    this.#connection = connectionOf(stream);
    if (this.#connection === undefined) stream.close(constants.NGHTTP2_CANCEL);
    else this.#connection.add(this);
  }

  /** Authenticates the caller before anything of its message is read. */
  begin(isLate: boolean): void {
    if (this.#listener === undefined) return;
    const { authenticate } = this.#serving;
    const refusal = this.#refusal;
    try {
      if (isLate) throw this.#options.admission.late('grpc');
      if (refusal?.http !== undefined) this.#refuseOverHttp(refusal.code, refusal.http);
      else if (refusal !== undefined) this.#refuse(refusal);
      else if (authenticate !== undefined) this.#identify(authenticate);
      else this.#read();
    } catch (thrown) {
      this.#reject(thrown);
    }
  }

  onReceiveMessage(message: object): void {
    const { input } = this.#serving;
    if (input === undefined) this.#handOn(message);
    else if (this.#request !== undefined) this.sendStatus(NOT_ONE);
    else {
      try {
        this.#request = readMessage(input, message as Uint8Array);
        this.#next.startRead();
      } catch (thrown) {
        this.#reject(thrown);
      }
    }
  }

  /** To a service of gRPC itself. In the place of a message that cannot be read it gets an error. */
  #handOn(message: object): void {
    if (message instanceof PlantStoreError) this.#reject(message);
    else this.#listener?.onReceiveMessage(message);
  }

  onReceiveHalfClose(): void {
    // The timer may be that of an answer to an earlier request of the stream.
    if (!this.#isAnswering) clearTimeout(this.#timer);
    if (this.#principal === undefined) this.#handle();
    else this.#takePermit(this.#principal.owner);
  }

  /** `message` is encoded. `sent` is called when it is on its way, or the call is over. */
  override sendMessage(message: Partial<Uint8Array>, sent: () => void): void {
    if (this.isOver) {
      sent();
      return;
    }
    this.#awaitReader();
    // Messages of gRPC's own services are encoded later, so they are not counted.
    this.#bytes += message.byteLength ?? 0;
    this.sendHeaders();
    if (this.#streams) this.#sent = sent;
    this.#next.sendMessage(message, this.#streams ? () => this.#taken(sent) : sent);
  }

  override sendStatus(status: Parameters<BaseCall['sendStatus']>[0]): void {
    if (this.isOver) return;
    this.#awaitReader();
    this.#code = status.code;
    this.#next.sendStatus(status);
  }

  failed(thrown: unknown): void {
    this.#failure = toPlantStoreError(thrown);
    this.sendStatus(this.#options.statusOf(thrown, this.#id));
  }

  /** Whether it has its status, or nobody waits for it any more. */
  get isOver(): boolean {
    return this.#listener === undefined || this.#code !== undefined;
  }

  /** Runs at the end of every call, however it ends. */
  onCancel(): void {
    clearTimeout(this.#timer);
    this.#permit.end();
    this.#report();
    // The library has ended it, and would wait for the rest of the request.
    if (this.#code === undefined) discard(this.#next);
    // A unary method that has answered has nothing left to abort.
    if (this.#streams || this.#code === undefined) this.#controller?.abort(OVER);
    this.#listener?.onCancel();
    this.#listener = undefined;
    this.#metadata = undefined;
    this.#request = undefined;
    this.#sent?.();
    this.#sent = undefined;
  }

  /** Its answer lasts and is counted elsewhere. Gives the permit back. */
  beginStream(): void {
    this.#permit.release();
  }

  /** Of no effect once they are sent. */
  sendHeaders(): void {
    if (!this.isOver) this.#next.sendMetadata(UNCOMPRESSED);
  }

  setHeld(bytes: number): void {
    this.#connection?.setHeld(streamOf(this.#next), bytes);
  }

  #identify(authenticate: Authenticate): void {
    const tokens = this.#metadata!.get('authorization') as string[];
    const principal = authenticate(tokens.length === 1 ? tokens[0] : tokens, this.#connection);
    if (!(principal instanceof Promise)) this.#admit(principal);
    else principal.then((caller) => this.#admit(caller)).catch((thrown) => this.#reject(thrown));
  }

  #admit(principal: Principal): void {
    this.#principal = principal;
    this.#connection?.verified(principal.owner);
    this.#read();
  }

  /** Reads the request. A stream of requests has no end to wait for. */
  #read(): void {
    const listener = this.#listener;
    if (listener === undefined) return;
    if (!this.#asksInStream) this.#timer = setTimeout(ServedCall.#timedOut, this.#options.requestTimeout * 1_000, this);
    if (this.#serving.answer === undefined) listener.onReceiveMetadata(this.#metadata!);
    else this.#next.startRead();
  }

  #takePermit(owner: string): void {
    if (this.#listener === undefined) return;
    const taken = this.#permit.take(this.#options.admission, owner, 'grpc');
    if (taken === undefined) this.#handle();
    else
      taken.then(
        () => this.#handle(),
        (error) => this.#reject(error),
      );
  }

  #handle(): void {
    const { answer } = this.#serving;
    const request = this.#request;
    if (answer === undefined) this.#run(() => this.#listener?.onReceiveHalfClose());
    else if (request === undefined) this.sendStatus(NOT_ONE);
    else this.#run(() => answer(request, this).catch((thrown) => this.failed(thrown)));
  }

  /** Calls the method, inside the call's span when tracing is on. */
  #run(handle: () => void): void {
    if (this.#span === undefined) handle();
    else this.#span.run(handle);
  }

  #awaitReader(): void {
    if (this.#isAnswering) this.#timer!.refresh();
    else {
      // That of a request which is answered before its end.
      clearTimeout(this.#timer);
      const left = Math.max(Number(this.#next.getDeadline()) - Date.now(), 0);
      const wait = Math.min(this.#options.idleTimeout * 1_000, left + READ_GRACE);
      this.#timer = setTimeout(ServedCall.#unread, wait, this);
    }
    this.#isAnswering = true;
  }

  #taken(sent: () => void): void {
    clearTimeout(this.#timer);
    this.#isAnswering = false;
    this.#sent = undefined;
    sent();
  }

  /** Ends the call before its handler gets it, and ends its stream even if the request is incomplete. */
  #reject(thrown: unknown): void {
    if (this.isOver) return;
    this.#failure = toPlantStoreError(thrown);
    this.#refuse(this.#options.statusOf(thrown, this.#id));
  }

  #refuse(status: PartialStatusObject): void {
    this.#code = status.code;
    this.#next.sendStatus(status);
    discard(this.#next);
  }

  /** Refuses what is no call of gRPC. */
  #refuseOverHttp(code: Status, http: number): void {
    const stream = streamOf(this.#next);
    this.#code = code;
    // RFC 9110, section 15.5.6.
    const headers = { ':status': http, ...(http === 405 && { allow: 'POST' }) };
    if (!stream.closed) stream.respond(headers, { endStream: true });
    // The library, which knows nothing of this answer, would answer a message that it cannot read, and Node throws.
    stream.removeAllListeners('data').removeAllListeners('end');
    discard(this.#next);
  }

  /** A call without a code was ended by grpc-js, or given up: then it counts as CANCELLED or DEADLINE_EXCEEDED. */
  #report(): void {
    const { observer } = this.#options;
    if (observer === undefined) return;
    const code = this.#code ?? codeSent(this.#next) ?? codeGivenUp(this.#next);
    const status = codeName(code);
    this.#span?.end({ protocol: 'grpc', status });
    observer.ended({
      ...this.#about,
      status,
      seconds: (performance.now() - this.#begun) / 1000,
      bytes: this.#bytes,
      requestId: this.#id,
      principal: this.#principal,
      failure: this.#failure,
      traceId: this.#span?.traceId,
    });
  }

  static #timedOut(call: ServedCall): void {
    call.#reject(TIMED_OUT);
  }

  /** Ends the stream, and releases what was to be sent: a client that reads no answer cannot get a status. */
  static #unread(call: ServedCall): void {
    streamOf(call.#next).close(constants.NGHTTP2_CANCEL);
  }
}

/** A method, and the library's side of a call, as an interceptor gets them. */
type Method = Parameters<ServerInterceptor>[0];
type BaseCall = Parameters<ServerInterceptor>[1];

/** The stream of a call: a private member of the library. Tests show that these uses take effect. */
const streamOf = (call: BaseCall): ServerHttp2Stream =>
  (call as unknown as { readonly stream: ServerHttp2Stream }).stream;

/**
 * The code with which grpc-js itself has ended a call: for a message that is too long, or for its deadline, whose timer
 * is ahead of the clock by as long as the event loop had taken when it got the call.
 */
function codeSent(call: BaseCall): number | undefined {
  const { sentHeaders, sentTrailers } = streamOf(call);
  const sent = sentTrailers?.['grpc-status'] ?? sentHeaders?.['grpc-status'];
  return sent === undefined ? undefined : Number(sent);
}

const codeGivenUp = (call: BaseCall): Status =>
  Number(call.getDeadline()) <= Date.now() ? Status.DEADLINE_EXCEEDED : Status.CANCELLED;

/**
 * Discards what still comes of a request that is answered: a stream with bytes that nobody reads would stay open. If
 * the request never ends, the check of all streams ends it.
 */
const discard = (call: BaseCall): void => void streamOf(call).resume();
