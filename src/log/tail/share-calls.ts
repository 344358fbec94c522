import { setImmediate as turn } from 'node:timers/promises';

/** From here to the same place in the next turn of the event loop: all that can be read by then was read. */
const wholeTurn = async (): Promise<void> => {
  await turn();
  await turn();
};

/**
 * Shares one call among all who ask while it is not yet running: as in Raft's ReadIndex, the call that answers a caller always
 * starts after that caller asked, and at most one runs while one waits. It starts at the end of the turn of the event loop, so
 * that all who ask in the same turn share it; and a whole turn after a call has ended, so that those who were answered, and ask
 * again at once, share it too. A busy loop has long turns, in which many ask; an idle one has turns of some microseconds.
 */
export function shareCalls<T>(call: () => Promise<T>): () => Promise<T> {
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
    waiting ??= (running === undefined ? turn() : running.then(wholeTurn)).then(start);
    return waiting;
  };
}
