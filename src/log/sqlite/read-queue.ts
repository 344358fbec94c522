/** Milliseconds after the first read of a turn of the event loop in which others may begin. */
const TURN_LIMIT = 2;

/**
 * Spreads reads over the turns of the event loop. Each read blocks it, and hundreds of requests may want one in the
 * same turn. Lanes take turns: a lane with many reads delays each read of another lane by one read. The lane of a list
 * is its owner; undefined is that of reads that concern no single owner.
 *
 * A read begins when the work that followed from the one before is done, up to its next wait. So the rows of many reads
 * never pile up in memory, and the time counts what is done with the rows. A read that waits holds nothing.
 */
export class ReadQueue {
  /** Reads that have not begun, by lane. The lane whose turn it is comes first. */
  readonly #waiting = new Map<unknown, (() => void)[]>();
  #isBusy = false;
  /** The end of this turn's share, by performance.now(). Undefined: no read has begun in this turn. */
  #end: number | undefined;

  /** Does a read in this turn or a later one. */
  do<T>(lane: unknown, read: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const start = () => {
        try {
          resolve(read());
        } catch (error) {
          reject(error);
        }
      };
      const waiting = this.#waiting.get(lane);
      if (waiting === undefined) this.#waiting.set(lane, [start]);
      else waiting.push(start);
      if (this.#isBusy) return;
      this.#isBusy = true;
      this.#go();
    });
  }

  readonly #go = (): void => {
    if (this.#waiting.size === 0) this.#isBusy = false;
    else if (!this.#mayBegin()) setImmediate(this.#go);
    else {
      this.#next()();
      queueMicrotask(this.#goLater);
    }
  };

  /** Asks for a tick from a microtask: Node then runs it after all microtasks, also those that microtasks add. */
  readonly #goLater = (): void => process.nextTick(this.#go);

  /** Removes the first read of the lane whose turn it is, and puts that lane behind the others. */
  #next(): () => void {
    const [lane, waiting] = this.#waiting.entries().next().value!;
    const first = waiting.shift()!;
    this.#waiting.delete(lane);
    if (waiting.length > 0) this.#waiting.set(lane, waiting);
    return first;
  }

  #mayBegin(): boolean {
    const now = performance.now();
    if (this.#end === undefined) {
      this.#end = now + TURN_LIMIT;
      setImmediate(() => {
        this.#end = undefined;
      });
    }
    return now < this.#end;
  }
}

/** Keys that are looked up at once: a millisecond, with the longest texts. */
const KEYS_PER_READ = 16;

/** What is found for each key, a few keys at a time. Each call is a lane: one of few keys waits for few of the rest. */
export async function eachKey<Key, Found>(
  queue: ReadQueue,
  keys: readonly Key[],
  find: (key: Key) => Found,
): Promise<Found[]> {
  const found: Found[] = [];
  for (let from = 0; from < keys.length; from += KEYS_PER_READ)
    await queue.do(keys, () => {
      for (const key of keys.slice(from, from + KEYS_PER_READ)) found.push(find(key));
    });
  return found;
}
