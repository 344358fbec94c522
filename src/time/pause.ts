import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves after the given milliseconds, or when the signal aborts. Never rejects. */
export const pause = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
  sleep(Math.max(milliseconds, 0), undefined, { signal }).catch(() => {});
