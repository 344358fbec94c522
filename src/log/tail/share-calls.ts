import { turn } from '../../time/host.ts';

/** Waits until the same point of the next turn of the event loop. Everything that could be read by then was read. */
const wholeTurn = async (): Promise<void> => {
  await turn();
  await turn();
};

/**
 * Shares one call among all callers that ask before it starts. As in Raft's ReadIndex, the call that answers a caller
 * always starts after that caller asked. At most one call runs and one waits.
 *
 * A call starts at the end of a turn of the event loop, so that all callers of that turn share it. After a call has
 * ended, the next one starts a whole turn later, so that callers that ask again at once share it too. A busy loop has
 * long turns with many callers; an idle loop has turns of a few microseconds.
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
