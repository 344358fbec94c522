import type { Backoff } from './backoff.ts';
import { pause } from './pause.ts';

/** Takes step after step until the signal aborts. A step that fails is told to `onFault`, and tried again after a pause. */
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
