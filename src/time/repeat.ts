import type { Backoff } from './backoff.ts';
import { pause } from './pause.ts';

/** Runs a step repeatedly until the signal aborts. A failed step is reported to `onFault` and retried after a pause. */
export async function repeat(
  step: () => Promise<void>,
  signal: AbortSignal,
  backoff: Backoff,
  onFault: (error: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await step();
      backoff.reset();
    } catch (error) {
      if (!signal.aborted) onFault(error);
      await pause(backoff.next(), signal);
    }
  }
}
