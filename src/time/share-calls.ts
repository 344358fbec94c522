import { yieldTurn } from './host.ts';

/**
 * Waits until the requests that are read in the next turn of the event loop have begun. A request begins late in the
 * turn that reads it, after what was planned for that turn before. So one turn is not enough.
 */
const wholeTurn = async (): Promise<void> => {
  await yieldTurn();
  await yieldTurn();
};

/**
 * Shares one call among all callers that ask before it starts. As in Raft's ReadIndex, the call that answers a caller
 * always starts after that caller asked. At most one call runs and one waits.
 *
 * A call starts a whole turn of the event loop after it was first asked for, so that all whose requests are read in
 * that turn share it. After a call has ended, the next one starts a turn later still, so that callers that ask again at
 * once share it too. A busy loop has long turns with many callers; an idle loop has turns of a few microseconds.
 */
export function shareCalls<T>(call: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> | undefined;
  let waiting: Promise<T> | undefined;
  const start = (): Promise<T> => {
    waiting = undefined;
    const result = call();
    const settled = () => {
      running = undefined;
    };
    running = result.then(settled, settled);
    return result;
  };
  return () => {
    waiting ??= (running === undefined ? wholeTurn() : running.then(yieldTurn).then(wholeTurn)).then(start);
    return waiting;
  };
}
