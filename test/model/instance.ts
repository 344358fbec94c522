import type { EventLog } from '../../src/log/log.ts';
import { openLog } from '../../src/log/log.ts';
import type { Snapshot, Store } from '../../src/log/store.ts';
import { override } from '../support/faulty-store.ts';
import { type Gate, gatedBatches } from './gate.ts';

/** How an instance is set up. */
export interface InstanceOptions {
  readonly listCacheBytes: number;
}

/**
 * An instance of the service on a real store. Its projector is the real one, and moves only when it is told to; its long lists
 * read one page at a time.
 */
export class Instance {
  readonly log: EventLog;
  readonly #projector: ProjectorSwitch;
  readonly #lists: ListGates;

  private constructor(log: EventLog, projector: ProjectorSwitch, lists: ListGates) {
    this.log = log;
    this.#projector = projector;
    this.#lists = lists;
  }

  /** Opens an instance on a store, which is its own from here on. */
  static async open(store: Store, { listCacheBytes }: InstanceOptions): Promise<Instance> {
    const [projector, lists] = [new ProjectorSwitch(), new ListGates()];
    const switched = override(store, {
      // All that is done under it is safe without it.
      lease: async (name, holder, milliseconds) => name === 'projector' || store.lease(name, holder, milliseconds),
      advance: (...step) => projector.advance(() => store.advance(...step)),
      snapshot: async () => lists.pass(await store.snapshot()),
    });
    const log = await openLog(switched, { listCacheBytes, onFault: (fault) => projector.failed(fault) });
    return new Instance(log, projector, lists);
  }

  /** Lets the projector move the read model to the end of the log. Returns the fault that stopped it, if one did. */
  async project(): Promise<unknown> {
    const { position } = await this.log.head();
    return this.#projector.run(() => this.log.status.checkpoint >= position);
  }

  /** Does what opens one long list, whose pages then pass a gate. */
  listing<T>(gate: Gate, open: () => Promise<T>): Promise<T> {
    return this.#lists.listing(gate, open);
  }

  /** Ends it as SIGTERM does. */
  async close(): Promise<void> {
    this.#projector.end();
    await this.log.close();
  }
}

/** Lets a projector's steps through while it is on. */
class ProjectorSwitch {
  #on = Promise.withResolvers<void>();
  #fault: unknown;
  #ended = false;

  async advance(step: () => Promise<boolean>): Promise<boolean> {
    await this.#on.promise;
    if (this.#ended) throw new Error('the instance ends');
    try {
      return await step();
    } catch (error) {
      // The log tells a read model that does not fit its events once, and not at each step.
      this.failed(error);
      throw error;
    }
  }

  failed(fault: unknown): void {
    this.#fault ??= fault;
  }

  async run(reached: () => boolean): Promise<unknown> {
    this.#fault = undefined;
    this.#on.resolve();
    while (!reached() && this.#fault === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
    if (!this.#ended) this.#on = Promise.withResolvers();
    return this.#fault;
  }

  end(): void {
    this.#ended = true;
    this.#on.resolve();
  }
}

/** Gives each long list the gate that its pages pass. */
class ListGates {
  #next: Gate | undefined;

  async listing<T>(gate: Gate, open: () => Promise<T>): Promise<T> {
    this.#next = gate;
    try {
      return await open();
    } finally {
      this.#next = undefined;
    }
  }

  pass(snapshot: Snapshot): Snapshot {
    const gate = this.#next;
    this.#next = undefined;
    if (gate === undefined) return snapshot;
    return {
      position: snapshot.position,
      upTo: snapshot.upTo,
      list: (owner, after) => gatedBatches(snapshot.list(owner, after), 'a page', gate),
      all: () => snapshot.all(),
      close: () => snapshot.close(),
    };
  }
}
