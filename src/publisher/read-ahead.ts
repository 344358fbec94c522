import type { LoggedEvent } from '../log/event/event.ts';
import { clearTimer, setTimer, type Timer } from '../time/host.ts';

/** Reading pauses while this many events wait. */
const LIMIT = 4_000;

/**
 * The events of `source` in batches. Each batch has the events that arrived while the caller processed the previous
 * one, so batches are small under light load and large while catching up. An empty batch means that nothing arrived for
 * `idle` milliseconds. Ends with the source, or rejects with its error.
 */
export async function* readAhead(
  source: AsyncIterable<readonly LoggedEvent[]>,
  idle: number,
): AsyncGenerator<readonly LoggedEvent[]> {
  let gathered: LoggedEvent[] = [];
  let reading = true;
  let wanted = true;
  let changed = Promise.withResolvers<void>();
  const notify = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const read = async () => {
    for await (const batch of source) {
      gathered.push(...batch);
      notify();
      while (wanted && gathered.length >= LIMIT) await changed.promise;
      if (!wanted) return;
    }
  };
  const done = read().finally(() => {
    reading = false;
    notify();
  });
  // The error is thrown below, after the events before it.
  done.catch(() => {});
  try {
    while (reading || gathered.length > 0) {
      if (gathered.length === 0) await within(changed.promise, idle);
      const batch = gathered;
      gathered = [];
      notify();
      if (batch.length > 0 || reading) yield batch;
    }
    await done;
  } finally {
    wanted = false;
    notify();
  }
}

/** Resolves with the promise, or after the given milliseconds. */
async function within(promise: Promise<void>, milliseconds: number): Promise<void> {
  let timer: Timer | undefined;
  const time = new Promise<void>((resolve) => {
    timer = setTimer(resolve, milliseconds);
  });
  await Promise.race([promise, time]);
  clearTimer(timer);
}
