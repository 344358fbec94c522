/**
 * Makes AbortSignal.any hold its signals by their listeners alone. Node keeps each of its own in a set of the whole
 * program while anybody listens to it; a simulated process that is killed listens for ever, and 4 GiB were full after
 * some 7,000 histories.
 */
export function forgetSignals(): void {
  AbortSignal.any = (signals) => {
    const any = new AbortController();
    for (const signal of signals) {
      if (signal.aborted) any.abort(signal.reason);
      else signal.addEventListener('abort', () => any.abort(signal.reason));
    }
    return any.signal;
  };
}
