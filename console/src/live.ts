import { effect, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { isUnauthenticated, isUnreachable, messageOf } from './api/trouble.ts';
import { offline, unreachable } from './reach.ts';
import { usable } from './session.ts';

/** Milliseconds before a stream that broke off begins again. */
const RETRY_PAUSE = 2_000;

/** Whether the page shows the current state. */
export interface Liveness {
  readonly state: 'loading' | 'live' | 'away' | 'failed' | 'stopped';
  /** Why it failed, in the service's words. */
  readonly message?: string;
}

/** What a pane shows of a stream. */
export interface Stream {
  readonly liveness: Signal<Liveness>;
  /** Calls `isLive` when what it shows is up to date, and ends with the signal. */
  readonly run: (isLive: () => void, signal: AbortSignal) => Promise<void>;
}

/**
 * Runs a stream while the pane is open and somebody is signed in. If the stream breaks off, or the service stops
 * answering other calls, runs it again once the service is reachable. When the service refuses the token, a new sign-in
 * runs it again.
 */
export function useStream(stream: Stream): void {
  const { value: current } = usable;
  useEffect(() => {
    if (current === undefined) return;
    const abort = new AbortController();
    void keepLive(stream, abort.signal);
    return () => abort.abort();
  }, [stream, current]);
}

async function keepLive({ liveness, run }: Stream, signal: AbortSignal): Promise<void> {
  liveness.value = { state: 'loading' };
  signal.addEventListener('abort', () => {
    liveness.value = { state: 'stopped' };
  });
  while (!signal.aborted) {
    const attempt = new AbortController();
    // The stream of a service that hangs does not end by itself.
    const end = effect(() => {
      if (offline.value) attempt.abort();
    });
    const isLive = (): void => {
      if (attempt.signal.aborted) return;
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
    do await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE));
    while (offline.peek() && !signal.aborted);
  }
}
