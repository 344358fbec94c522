import { signal } from '@preact/signals';
import { loadSettings } from './access.ts';
import { isUnreachable } from './api/trouble.ts';

/** Milliseconds between two calls of a service that does not answer. */
const RETRY_PAUSE = 1_000;
/**
 * Milliseconds between two checks that the service answers. The stream of a service that hangs does not end by itself.
 */
const PROBE_INTERVAL = 8_000;

/** True from when a call did not reach the service until one does. */
export const offline = signal(false);

/** A call did not reach the service. Calls it again and again until it answers. */
export async function unreachable(): Promise<void> {
  if (offline.peek()) return;
  offline.value = true;
  const isReached = () =>
    loadSettings().then(
      () => true,
      () => false,
    );
  do await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE));
  while (!(await isReached()));
  offline.value = false;
}

/** Checks from now on that the service answers, while the page is visible. */
export function watchReach(): void {
  const look = (): void => {
    if (document.hidden || offline.peek()) return;
    loadSettings().catch((error) => {
      if (isUnreachable(error)) void unreachable();
    });
  };
  look();
  setInterval(look, PROBE_INTERVAL);
  document.addEventListener('visibilitychange', look);
}
