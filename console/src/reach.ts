import { signal } from '@preact/signals';
import { loadSettings } from './access.ts';
import { isUnreachable } from './api/trouble.ts';

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 4_000;
/**
 * Milliseconds between two checks that the service answers. The stream of a service that hangs does not end by itself.
 */
const HEARTBEAT = 8_000;

/** True from when a call did not reach the service until one does. */
export const offline = signal(false);

/** A call did not reach the service. Calls it again and again until it answers. */
export async function unreachable(): Promise<void> {
  if (offline.peek()) return;
  offline.value = true;
  for (let pause = FIRST_PAUSE; offline.peek(); pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    await loadSettings().then(
      () => {
        offline.value = false;
      },
      () => {},
    );
  }
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
  setInterval(look, HEARTBEAT);
  document.addEventListener('visibilitychange', look);
}
