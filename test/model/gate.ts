/** What a call that dies was for: nobody is there any more to hear of it. */
export class Killed extends Error {
  constructor(call: string) {
    super(`killed at ${call}`);
    this.name = 'Killed';
  }
}

/** What becomes of a call at the gate. Who dies after it has done it, and never knows. */
type Fate = 'goes on' | 'dies before' | 'dies after';

/** Where the calls of one process wait, until each is let through, or the process is killed there. */
export class Gate {
  readonly #waiting: { readonly call: string; decide(fate: Fate): void }[] = [];
  #arrival = Promise.withResolvers<void>();
  #state: 'closed' | 'open' | 'dead' = 'closed';

  /** The call that waits; undefined: none. */
  get waiting(): string | undefined {
    return this.#waiting[0]?.call;
  }

  /** Resolves when a call waits. */
  async arrival(): Promise<void> {
    if (this.#waiting.length === 0) await this.#arrival.promise;
  }

  /** Does a call once it is let through. Rejects with Killed. */
  async pass<T>(call: string, work: () => Promise<T>): Promise<T> {
    const fate = await this.#fate(call);
    if (fate === 'dies before') throw new Killed(call);
    const result = await work();
    if (fate === 'dies after') throw new Killed(call);
    return result;
  }

  #fate(call: string): Fate | Promise<Fate> {
    if (this.#state !== 'closed') return this.#state === 'open' ? 'goes on' : 'dies before';
    return new Promise((decide) => {
      this.#waiting.push({ call, decide });
      this.#arrival.resolve();
    });
  }

  /** Lets the first call through that waits. */
  letThrough(): void {
    this.#decide('goes on');
  }

  /** Lets everything through from here on. */
  open(): void {
    this.#state = 'open';
    while (this.#waiting.length > 0) this.#decide('goes on');
  }

  /** Nothing comes through any more, but for the call that waits, if that is to be done first. */
  kill(done: boolean): void {
    this.#state = 'dead';
    if (this.#waiting.length > 0) this.#decide(done ? 'dies after' : 'dies before');
    while (this.#waiting.length > 0) this.#decide('dies before');
  }

  #decide(fate: Fate): void {
    const { decide } = this.#waiting.shift()!;
    if (this.#waiting.length === 0) this.#arrival = Promise.withResolvers();
    decide(fate);
  }
}

/** Methods that give batches one after the other: each batch is a call. */
const BATCHED = new Set(['read', 'all']);

/** A store whose calls pass a gate, each batch that it reads too. */
export function gated<T extends object>(target: T, gate: Gate): T {
  return new Proxy(target, {
    get(_, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const call = String(name);
      if (BATCHED.has(call))
        return (...args: unknown[]) => gatedBatches(value.apply(target, args) as AsyncIterable<unknown>, call, gate);
      return async (...args: unknown[]) => {
        const result = await gate.pass(call, () => value.apply(target, args));
        return call === 'snapshot' ? gated(result as object, gate) : result;
      };
    },
  });
}

/** Batches that pass a gate, each before it is read. */
export async function* gatedBatches<Batch>(
  batches: AsyncIterable<Batch>,
  call: string,
  gate: Gate,
): AsyncGenerator<Batch> {
  const iterator = batches[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await gate.pass(`${call} a batch`, () => iterator.next());
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await iterator.return?.();
  }
}
