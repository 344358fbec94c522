import type { DescMethod, DescService, MessageShape } from '@bufbuild/protobuf';
import type { Principal } from '../auth/principal.ts';
import type { Cancellation } from '../log/commit/committer.ts';

/** A call with one answer, whatever protocol it came over. A transport makes it once it has authenticated the caller. */
export interface Call {
  readonly principal: Principal;
  /** The `Idempotency-Key` header, or the metadata of that name, as it came: one text, or all of several. */
  readonly idempotencyKey?: string | readonly string[] | undefined;
  /** Whether the caller gave the call up. */
  readonly signal: Cancellation;
  /** Set by a write whose answer is that of an earlier one with the same idempotency key. */
  replayed?: boolean;
  /**
   * Called once by a method whose answer lasts as long as its caller likes, and is counted by a bound of its own: it gives back its
   * place among the requests that are served. Undefined where there are no places.
   */
  lasts?(): void;
}

/** A call that a stream answers. */
export interface StreamingCall extends Call {
  readonly signal: AbortSignal;
}

/** The methods of a service by their local names, as every transport calls them. They reject with PlantStoreError. */
export type Methods<Service extends DescService> = {
  readonly [Name in keyof Service['method']]: Method<Service['method'][Name]>;
};

type Method<Desc extends DescMethod> = Desc['methodKind'] extends 'unary'
  ? (request: MessageShape<Desc['input']>, call: Call) => Promise<MessageShape<Desc['output']>>
  : (request: MessageShape<Desc['input']>, call: StreamingCall) => AsyncIterable<MessageShape<Desc['output']>>;
