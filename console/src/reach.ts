import { effect, signal } from '@preact/signals';
import { loadSettings } from './access.ts';
import { isUnreachable } from './api/trouble.ts';

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 4_000;
/** Milliseconds between two looks whether the service answers at all: one that hangs ends no stream. */
const HEARTBEAT = 8_000;

/** True from when a call did not reach the service until one does. */
export const offline = signal(false);

/** A call did not reach the service. It is called again, and again later, until it answers. */
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

/** Looks from now on whether the service answers, while somebody looks at the page. */
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

/** Resolves once the service can be reached, or when the signal is aborted. */
export async function online(signal: AbortSignal): Promise<void> {
  if (!offline.peek() || signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = effect(() => {
    if (!offline.value) resolve();
  });
  const onAbort = (): void => resolve();
  signal.addEventListener('abort', onAbort);
  await promise;
  end();
  signal.removeEventListener('abort', onAbort);
}
