import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { OpenLink } from '../../src/log/forward/hop.ts';
import type { Taker } from '../../src/log/forward/taker.ts';
import type { EventLog } from '../../src/log/log.ts';
import type { Contact, Leaseholder, Store } from '../../src/log/store.ts';
import { override } from './faulty-store.ts';

/** Runs actions in order, each in a turn of its own. Runs none while held. */
class Channel {
  held = false;
  readonly #waiting: (() => void)[] = [];
  #running = false;

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  push(deliver: () => void): void {
    this.#waiting.push(deliver);
    void this.run();
  }

  async run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    while (this.#waiting.length > 0 && !this.held) {
      await nextTurn();
      if (!this.held) this.#waiting.shift()?.();
    }
    this.#running = false;
  }
}

interface OpenedLink {
  readonly from: string;
  readonly requests: Channel;
  cut(): void;
}

/**
 * The hop between the logs of one test. As with TCP, a message may arrive long after its sender has closed the link.
 * The test controls when messages arrive.
 */
export class TestHop {
  readonly #takers = new Map<string, Taker>();
  #links: OpenedLink[] = [];

  /** Adds a log under a name, which is its address. */
  join(name: string, log: EventLog): void {
    const options = { onReachable: () => {}, onFault: () => {} };
    this.#takers.set(name, log.join({ contact: () => ({ address: name }), openLink: this.#open(name), ...options }));
  }

  /** Holds requests on the open links of an instance. */
  hold(from: string): void {
    for (const { requests } of this.#linksOf(from)) requests.held = true;
  }

  /** Resolves when a request of an instance is held. */
  async holds(from: string): Promise<void> {
    while (this.#linksOf(from).every(({ requests }) => requests.isEmpty)) await nextTurn();
  }

  /** Closes the links of an instance from its own view. Messages in transit still arrive. */
  cut(from: string): void {
    for (const link of this.#linksOf(from)) link.cut();
  }

  /** Releases held messages. Resolves when they have arrived. */
  async release(): Promise<void> {
    for (const { requests } of this.#links) {
      requests.held = false;
      await requests.run();
    }
    await sleep(20);
  }

  #linksOf(from: string): OpenedLink[] {
    return this.#links.filter((link) => link.from === from);
  }

  #open =
    (from: string): OpenLink =>
    (to, listener) => {
      const requests = new Channel();
      const replies = new Channel();
      let over = false;
      const end = (fault: unknown) => {
        if (over) return;
        over = true;
        listener.ended(fault);
      };
      let taking: ReturnType<Taker['begin']> | undefined;
      requests.push(() => {
        const taker = this.#takers.get(to.address);
        if (taker?.admits(to.secret) !== true) replies.push(() => end(new Error('refused')));
        else
          taking = taker.begin(
            (answers) => replies.push(() => over || listener.answered(answers)),
            () => replies.push(() => end(undefined)),
          );
      });
      const abandon = () => requests.push(() => taking?.abandon());
      const link = {
        ...{ from, requests },
        cut: () => {
          end(new Error('cut'));
          abandon();
        },
      };
      this.#links.push(link);
      return {
        send: (batch) => {
          requests.push(() => taking?.take(batch));
          return true;
        },
        finish: () => requests.push(() => taking?.finish()),
        close: () => {
          over = true;
          abandon();
        },
      };
    };
}

/** Lets a test choose the writer. */
export class TestLeases {
  /** The only instance that gets the lease; undefined: the first to ask. */
  writer: string | undefined;
  #holder: Leaseholder | undefined;

  /** A store with this writer lease. `name` is the address of its instance. */
  on(store: Store, name: string): Store {
    const lease = async (lease: string, holder: string, milliseconds: number, contact?: Contact) => {
      if (lease !== 'writer' || contact === undefined) return store.lease(lease, holder, milliseconds);
      if (this.writer !== undefined && this.writer !== name) return false;
      if (this.#holder !== undefined && this.#holder.holder !== holder) return false;
      this.#holder = milliseconds > 0 ? { holder, ...contact } : undefined;
      return milliseconds > 0;
    };
    return override(store, { lease, leaseholder: async () => this.#holder });
  }
}
