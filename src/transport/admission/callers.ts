import { Caller } from './connection.ts';

/** The callers that have connections, by owner. */
export class Callers {
  readonly #known = new Map<string, WeakRef<Caller>>();
  readonly #gone = new FinalizationRegistry<string>((owner) => {
    if (this.#known.get(owner)?.deref() === undefined) this.#known.delete(owner);
  });

  /** The caller of an owner: the same one as long as anything refers to it. */
  of(owner: string): Caller {
    const known = this.#known.get(owner)?.deref();
    if (known !== undefined) return known;
    const caller = new Caller(owner);
    this.#known.set(owner, new WeakRef(caller));
    this.#gone.register(caller, owner);
    return caller;
  }
}
