import { computed, signal } from '@preact/signals';
import { session } from './session.ts';

/** What a token can be good for. */
export type Scope = 'plants:read' | 'plants:write' | 'plants:audit' | 'plants:erase';

/** What the service tells everybody about who may do what. */
export interface Settings {
  /** The claim of a token that names the owner. */
  readonly ownerClaim: string;
  /** Scopes that are enforced beside `plants:audit` and `plants:erase`, which always are. */
  readonly requiredScopes: readonly string[];
  /** Whether /log is served. */
  readonly publicLog: boolean;
}

/** Undefined until the service has answered. */
export const settings = signal<Settings | undefined>(undefined);

/** Milliseconds after which a service that does not answer cannot be reached. */
const LONGEST_ANSWER = 8_000;

/** Fetches the settings of the service. Rejects when it cannot be reached. */
export async function loadSettings(): Promise<void> {
  const response = await fetch('/console/settings', { signal: AbortSignal.timeout(LONGEST_ANSWER) });
  if (!response.ok) throw new Error(`the service answered with ${response.status}`);
  const found = await response.json();
  if (JSON.stringify(found) !== JSON.stringify(settings.peek())) settings.value = found;
}

/** Whether the token is good for this. */
export function may(scope: Scope): boolean {
  const { value: current } = session;
  if (current === undefined) return false;
  const enforced =
    scope === 'plants:audit' || scope === 'plants:erase' || settings.value?.requiredScopes.includes(scope);
  return !enforced || current.claims.scopes.has(scope);
}

/** Whose plants the token is for; empty where nobody is signed in. */
export const owner = computed(() => {
  const { value: current } = session;
  return current === undefined ? '' : String(current.claims.all[settings.value?.ownerClaim ?? 'sub'] ?? '');
});
