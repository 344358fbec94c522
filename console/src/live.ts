import type { Signal } from '@preact/signals';
import { isUnauthenticated, isUnreachable, messageOf } from './api/trouble.ts';
import { offline, online, unreachable } from './reach.ts';

const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 10_000;

/** How what is shown stands to what is there. */
export interface Liveness {
  readonly state: 'loading' | 'live' | 'away' | 'failed' | 'stopped';
  /** Why it failed, in the service's words. */
  readonly message?: string;
}

/**
 * Runs a stream until the signal is aborted: when it breaks off it is run again, once the service can be reached. `run` calls `isLive`
 * when what it shows is up to date. Ends also when the token is not taken: who signs in again runs it anew.
 */
export async function keepLive(
  run: (isLive: () => void) => Promise<void>,
  liveness: Signal<Liveness>,
  signal: AbortSignal,
): Promise<void> {
  let pause = FIRST_PAUSE;
  liveness.value = { state: 'loading' };
  signal.addEventListener('abort', () => {
    liveness.value = { state: 'stopped' };
  });
  const isLive = (): void => {
    pause = FIRST_PAUSE;
    offline.value = false;
    if (liveness.peek().state !== 'live') liveness.value = { state: 'live' };
  };
  while (!signal.aborted) {
    try {
      await run(isLive);
      if (signal.aborted) return;
      liveness.value = { state: 'away' };
    } catch (error) {
      if (signal.aborted) return;
      if (isUnauthenticated(error)) {
        liveness.value = { state: 'stopped' };
        return;
      }
      if (isUnreachable(error)) {
        liveness.value = { state: 'away' };
        void unreachable();
        await online(signal);
      } else liveness.value = { state: 'failed', message: messageOf(error) };
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(2 * pause, LONGEST_PAUSE);
  }
}
