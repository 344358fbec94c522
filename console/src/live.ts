import { effect, type Signal } from '@preact/signals';
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
 * Runs a stream until the signal is aborted: when it breaks off, or the service does not answer others, it is run again once the service
 * can be reached. `run` calls `isLive` when what it shows is up to date, and ends with the signal that it is given. Ends also when the token is not taken: who signs in again runs it anew.
 */
export async function keepLive(
  run: (isLive: () => void, signal: AbortSignal) => Promise<void>,
  liveness: Signal<Liveness>,
  signal: AbortSignal,
): Promise<void> {
  let pause = FIRST_PAUSE;
  liveness.value = { state: 'loading' };
  signal.addEventListener('abort', () => {
    liveness.value = { state: 'stopped' };
  });
  while (!signal.aborted) {
    const attempt = new AbortController();
    // A service that hangs ends no stream.
    const end = effect(() => {
      if (offline.value) attempt.abort();
    });
    const isLive = (): void => {
      if (attempt.signal.aborted) return;
      pause = FIRST_PAUSE;
      if (liveness.peek().state !== 'live') liveness.value = { state: 'live' };
    };
    try {
      await run(isLive, AbortSignal.any([signal, attempt.signal]));
      if (signal.aborted) return;
      liveness.value = { state: 'away' };
    } catch (error) {
      if (signal.aborted) return;
      if (isUnauthenticated(error)) {
        liveness.value = { state: 'stopped' };
        return;
      }
      const isAway = attempt.signal.aborted || isUnreachable(error);
      liveness.value = isAway ? { state: 'away' } : { state: 'failed', message: messageOf(error) };
      if (isAway) void unreachable();
    } finally {
      end();
    }
    await online(signal);
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(2 * pause, LONGEST_PAUSE);
  }
}
