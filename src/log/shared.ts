/**
 * Shares one call among all who ask while it is not yet running: as in Raft's ReadIndex, the call that answers a caller always
 * starts after that caller asked, and at most one runs while one waits.
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
    if (waiting !== undefined) return waiting;
    if (running === undefined) return start();
    waiting = running.then(start);
    return waiting;
  };
}
