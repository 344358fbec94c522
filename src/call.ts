import type { DescMethod, DescService, MessageShape } from '@bufbuild/protobuf';
import type { Principal } from './auth/principal.ts';
import type { Cancellation } from './log/commit/committer.ts';

/** An authenticated call with one response, independent of its protocol. The transport creates it. */
export interface Call {
  readonly principal: Principal;
  /** The unparsed `Idempotency-Key` header or metadata: one value, or all of several. */
  readonly idempotencyKey?: string | readonly string[] | undefined;
  /** Tells whether the caller has cancelled the call. */
  readonly signal: Cancellation;
  /** A write sets it when it returns the result of an earlier write with the same idempotency key. */
  replayed?: boolean;
  /** Gives the permit back, once: the response has no end, and another bound counts it. Undefined: no permit. */
  beginStream?(): void;
  /** Sends the headers before the first message of a stream, which may come late: the client knows it is accepted. */
  sendHeaders?(): void;
  /** A method says how many bytes of its response it has in memory, in addition to those that are being sent. */
  setHeld?(bytes: number): void;
}

/** The header (over gRPC the trailer) of a replayed answer, whose value is `true`. Metadata is in lower case. */
export const REPLAYED_HEADER = 'idempotency-replayed';

/** A call whose response is a stream. */
export interface StreamingCall extends Call {
  readonly signal: AbortSignal;
}

/** The methods of a service by local name, as every transport calls them. They reject with PlantStoreError. */
export type Methods<Service extends DescService> = {
  readonly [Name in keyof Service['method']]: Method<Service['method'][Name]>;
};

type Method<Desc extends DescMethod> = Desc['methodKind'] extends 'unary'
  ? (request: MessageShape<Desc['input']>, call: Call) => Promise<MessageShape<Desc['output']>>
  : (request: MessageShape<Desc['input']>, call: StreamingCall) => AsyncIterable<MessageShape<Desc['output']>>;

/** A service for gRPC and Connect: its descriptor, and its methods by local name, which take decoded requests. */
export interface Service {
  readonly desc: DescService;
  readonly methods: {
    readonly [localName: string]: (request: never, call: StreamingCall) => Promise<object> | AsyncIterable<object>;
  };
}
