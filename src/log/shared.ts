import { setImmediate as turn } from 'node:timers/promises';

/**
 * Shares one call among all who ask while it is not yet running: as in Raft's ReadIndex, the call that answers a caller always
 * starts after that caller asked, and at most one runs while one waits. It starts at the end of the turn of the event loop, so
 * that all who ask in the same turn share it.
 */
export function shared<T>(call: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> | undefined;
  let waiting: Promise<T> | undefined;
  const start = (): Promise<T> => {
    waiting = undefined;
    const result = call();
    const done = () => {
      if (running === settled) running = undefined;
    };
    const settled: Promise<unknown> = result.then(done, done);
    running = settled;
    return result;
  };
  return () => {
    waiting ??= (running ?? turn()).then(start);
    return waiting;
  };
}
