import { computed, signal } from '@preact/signals';
import { type Claims, claimsOf } from './claims.ts';

const KEY = 'plantstore.token';
const IN_ADDRESS = '#token=';

/** Who is signed in, and since the token tells it, as whom. */
export interface Session {
  readonly token: string;
  readonly claims: Claims;
}

const token = signal(sessionStorage.getItem(KEY) ?? '');

/** Why the service no longer takes the token, once it said so. */
export const refusal = signal<string | undefined>(undefined);

/** Who is signed in; undefined: nobody. */
export const session = computed<Session | undefined>(() => {
  const claims = claimsOf(token.value);
  return claims && { token: token.value, claims };
});

/** Signs in with a token. Returns false where the text is none. */
export function signIn(text: string): boolean {
  const trimmed = text.trim().replace(/^Bearer\s+/i, '');
  if (claimsOf(trimmed) === undefined) return false;
  sessionStorage.setItem(KEY, trimmed);
  refusal.value = undefined;
  token.value = trimmed;
  return true;
}

/** Forgets the token. */
export function signOut(): void {
  sessionStorage.removeItem(KEY);
  refusal.value = undefined;
  token.value = '';
}

/** Takes the token of `#token=...` out of the address bar and its history, and signs in with it. */
export function takeTokenFromAddress(): void {
  if (!location.hash.startsWith(IN_ADDRESS)) return;
  const text = location.hash.slice(IN_ADDRESS.length);
  history.replaceState(null, '', location.pathname);
  signIn(text);
}
