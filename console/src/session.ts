import { batch, computed, effect, signal } from '@preact/signals';
import { type Claims, claimsOf } from './claims.ts';

const KEY = 'plantstore.token';
const IN_ADDRESS = '#token=';
/** The longest time that a timer of a browser can wait. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Who is signed in, as the token tells it. */
export interface Session {
  readonly token: string;
  readonly claims: Claims;
}

const token = signal(sessionStorage.getItem(KEY) ?? '');

/** Who is signed in; undefined: nobody. */
export const session = computed<Session | undefined>(() => {
  const claims = claimsOf(token.value);
  return claims && { token: token.value, claims };
});

/** Why the service takes the token no longer; undefined while it does. */
export const refusal = signal<string | undefined>(undefined);

/** The token that calls are made with; undefined: no call would be answered. */
export const usable = computed(() => (refusal.value === undefined ? session.value : undefined));

/** Signs in with a token. Returns false where the text is none. */
export function signIn(text: string): boolean {
  const trimmed = text.trim().replace(/^Bearer\s+/i, '');
  if (claimsOf(trimmed) === undefined) return false;
  sessionStorage.setItem(KEY, trimmed);
  hold(trimmed);
  return true;
}

/** Forgets the token. */
export function signOut(): void {
  sessionStorage.removeItem(KEY);
  hold('');
}

/** In one step: nothing may judge the new token by the old one's end. */
function hold(text: string): void {
  batch(() => {
    refusal.value = undefined;
    token.value = text;
  });
}

/** The service said that it takes this token no longer. */
export function refused(of: string | undefined, why: string): void {
  if (of !== undefined && of === token.peek()) refusal.value = why;
}

/** Takes the token of `#token=...` out of the address bar and its history, and signs in with it. */
export function takeTokenFromAddress(): void {
  if (!location.hash.startsWith(IN_ADDRESS)) return;
  const text = location.hash.slice(IN_ADDRESS.length);
  history.replaceState(null, '', location.pathname);
  signIn(text);
}

/** Notices when the token expires, without a call. */
export function watchExpiry(): void {
  effect(() => {
    const current = session.value;
    if (current === undefined || refusal.value !== undefined) return;
    let timer: ReturnType<typeof setTimeout>;
    const look = (): void => {
      const left = current.claims.expires - Date.now();
      if (left <= 0) refusal.value = 'the token has expired';
      else timer = setTimeout(look, Math.min(left, LONGEST_TIMER));
    };
    look();
    return () => clearTimeout(timer);
  });
}
