import { effect, signal } from '@preact/signals';
import { loadSettings } from './access.ts';

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 4_000;

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

/** Resolves once the service can be reached, or when the signal is aborted. */
export function online(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = effect(() => {
      if (!offline.value) queueMicrotask(done);
    });
    const done = (): void => {
      end();
      signal.removeEventListener('abort', done);
      resolve();
    };
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
