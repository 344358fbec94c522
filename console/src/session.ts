import { batch, computed, signal } from '@preact/signals';
import { type Claims, claimsOf, faultOf, tokenIn } from './claims.ts';

const KEY = 'plantstore.token';
const IN_ADDRESS = '#token=';

/** The signed-in user, according to the token. */
export interface Session {
  readonly token: string;
  readonly claims: Claims;
}

const token = signal(sessionStorage.getItem(KEY) ?? '');

/** The signed-in user; undefined if nobody is signed in. */
export const session = computed<Session | undefined>(() => {
  const claims = claimsOf(token.value);
  return claims && { token: token.value, claims };
});

/** Why the token is of no use any more, in a sentence; undefined while it is. */
export const refusal = signal<string | undefined>(undefined);

/** The token for calls; undefined if the service would refuse every call. */
export const usable = computed(() => (refusal.value === undefined ? session.value : undefined));

/** Signs in with the token in a text. Does not, and returns why, if there is none. */
export function signIn(text: string): string | undefined {
  const found = tokenIn(text);
  const fault = faultOf(found);
  if (fault !== undefined) return fault;
  sessionStorage.setItem(KEY, found);
  hold(found);
  return undefined;
}

/** Forgets the token. */
export function signOut(): void {
  sessionStorage.removeItem(KEY);
  hold('');
}

/** In one step, so that nothing applies the old token's expiry to the new one. An offer was for the old one's user. */
function hold(text: string): void {
  batch(() => {
    refusal.value = undefined;
    offered.value = undefined;
    hadBadLink.value = false;
    token.value = text;
  });
}

/** Call this when the service refuses this token. */
export function refused(of: string | undefined, why: string): void {
  if (of !== undefined && of === token.peek()) refusal.value = `The service does not accept this token: ${why}.`;
}

/**
 * The token of a link that would sign in as somebody else: a page of others may have opened it, so the user decides.
 */
export const offered = signal<Session | undefined>(undefined);

/** Whether the link that opened the page held a text that is not a token. */
export const hadBadLink = signal(false);

/** Signs in with the token of the link, or keeps the present one. */
export function answerOffer(takeIt: boolean): void {
  if (takeIt) signIn(offered.value?.token ?? '');
  offered.value = undefined;
}

/** Takes the token of `#token=...` out of the address, and signs in; if somebody else is signed in, offers it. */
export function takeTokenFromAddress(): void {
  if (!location.hash.startsWith(IN_ADDRESS)) return;
  const text = location.hash.slice(IN_ADDRESS.length);
  history.replaceState(null, '', location.pathname);
  const claims = claimsOf(text);
  const present = session.value;
  if (claims === undefined) hadBadLink.value = true;
  else if (present !== undefined && present.claims.subject !== claims.subject) offered.value = { token: text, claims };
  else signIn(text);
}
