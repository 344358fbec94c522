import { computed, signal } from '@preact/signals';
import type { Claims } from './claims.ts';
import { session } from './session.ts';

/** What a token can permit. */
export type Scope = 'plants:read' | 'plants:write' | 'plants:audit' | 'plants:erase';

/** The public settings of the service that decide who may do what. */
export interface Settings {
  /** The claim of a token that names the owner. */
  readonly ownerClaim: string;
  /** Scopes that the service enforces, besides `plants:audit` and `plants:erase`, which it always enforces. */
  readonly requiredScopes: readonly string[];
  /** Whether /log is served. */
  readonly publicLog: boolean;
}

/** Undefined until the service has answered. */
export const settings = signal<Settings | undefined>(undefined);

/** Milliseconds without an answer after which the service counts as unreachable. */
export const LONGEST_ANSWER = 8_000;

/** Fetches the settings of the service. Rejects if it is unreachable. */
export async function loadSettings(): Promise<void> {
  const response = await fetch('/console/settings', { signal: AbortSignal.timeout(LONGEST_ANSWER) });
  if (!response.ok) throw new Error(`the service answered with ${response.status}`);
  const found = await response.json();
  if (JSON.stringify(found) !== JSON.stringify(settings.peek())) settings.value = found;
}

/** Whether the token permits this. */
export const may = (scope: Scope): boolean => missing(scope) === undefined;

/** What is missing for this: its scope if the service enforces that, or else any token. Undefined: nothing. */
export function missing(scope: Scope): string | undefined {
  const { value: current } = session;
  const enforced =
    scope === 'plants:audit' || scope === 'plants:erase' || settings.value?.requiredScopes.includes(scope);
  if (enforced) return current?.claims.scopes.has(scope) ? undefined : scope;
  return current === undefined ? 'a token' : undefined;
}

/** The owner whom a token with these claims is for; empty if it names none. */
export const ownerOf = ({ all }: Claims): string => String(all[settings.value?.ownerClaim ?? 'sub'] ?? '');

/** The owner that the token is for; empty if nobody is signed in. */
export const owner = computed(() => (session.value === undefined ? '' : ownerOf(session.value.claims)));
