import { clearTimer, setTimer } from './host.ts';

/** Resolves after the given milliseconds, or when the signal aborts. Never rejects. */
export const pause = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const over = () => {
      clearTimer(timer);
      signal?.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimer(over, Math.max(milliseconds, 0));
    signal?.addEventListener('abort', over);
  });
