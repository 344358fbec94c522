import { type ContextValues, createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { Principal } from '../auth/principal.ts';
import type { Cancellation } from '../log/committer.ts';

/** What a method of the service needs to know of a call, whatever the protocol: a part of Connect's HandlerContext. */
export type CallContext = Pick<HandlerContext, 'signal' | 'values'>;

/** What a method with one answer needs to know: it asks whether its call was given up, and waits for nothing. */
export interface UnaryContext {
  readonly values: ContextValues;
  readonly signal: Cancellation;
}

/** Where the transport puts the caller that the authenticator let in. */
export const principalKey = createContextKey<Principal | undefined>(undefined, { description: 'principal' });

/**
 * Where the transport puts the `Idempotency-Key` header, or the metadata of that name, as it came: one text, or all of several.
 */
export const idempotencyHeaderKey = createContextKey<string | readonly string[] | undefined>(undefined, {
  description: 'Idempotency-Key header',
});

/** Set by a write whose answer is that of an earlier one with the same idempotency key. */
export const replayedKey = createContextKey(false, { description: 'replayed' });

/** The caller. Throws when a transport forgot to authenticate, so that no call goes unauthenticated. */
export function principalOf(call: UnaryContext): Principal {
  const principal = call.values.get(principalKey);
  if (principal === undefined) throw new Error('call without a principal');
  return principal;
}
