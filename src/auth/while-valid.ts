import { unlessAborted } from '../time/pause.ts';
import type { Validity } from './validity.ts';

/** Milliseconds between two checks of a stream's token, also while the stream is idle. */
const LOOK = 500;

/**
 * The items of a source while a token is valid. Afterwards it rejects with the Refusal, at the next item or within half
 * a second, even if the source ignores its signal, which then aborts with the Refusal, too. It never ends as if it were
 * complete. Opens the source with the first item: an unread stream has nothing to end. `given`: another signal for it.
 */
export async function* whileValid<Item>(
  validity: Validity,
  open: (signal: AbortSignal) => AsyncIterable<Item>,
  given?: AbortSignal,
): AsyncGenerator<Item, undefined> {
  const end = new AbortController();
  const { signal } = end;
  const look = async () => {
    if (!validity.holds) await validity.confirm().catch((refusal) => end.abort(refusal));
  };
  const timer = setInterval(look, LOOK).unref();
  const source = open(given === undefined ? signal : AbortSignal.any([given, signal]))[Symbol.asyncIterator]();
  try {
    for (;;) {
      const step = await unlessAborted(source.next(), signal);
      if (step.done !== true) await look();
      signal.throwIfAborted();
      if (step.done === true) return undefined;
      yield step.value;
    }
  } finally {
    clearInterval(timer);
    // Not awaited, because the source may be slow to end.
    void source.return?.().catch(() => {});
  }
}
