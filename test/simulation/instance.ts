import type { Taker } from '../../src/log/forward/taker.ts';
import type { EventLog } from '../../src/log/log.ts';
import { openWhenReachable } from '../../src/log/open.ts';
import { BrokenReadModelError, type Store } from '../../src/log/store.ts';
import { Tree } from '../../src/log/tree/tree.ts';
import { Watches } from '../../src/plants/watch/watches.ts';
import { Publisher } from '../../src/publisher/publisher.ts';
import { pause } from '../../src/time/pause.ts';
import { LogCheckpoints } from '../../src/transparency/checkpoints.ts';
import type { KeptCheckpoint } from '../../src/transparency/kept-checkpoint.ts';
import type { LogKey } from '../../src/transparency/log-key.ts';
import type { SignedCheckpoint } from '../../src/transparency/signed-checkpoint.ts';
import type { Network } from './machine/network.ts';
import type { Process } from './machine/process.ts';
import type { Server } from './machine/server.ts';
import type { FakeTopic } from './machine/topic.ts';
import { MemoryStore, type Sizes } from './store/memory-store.ts';

/** Small, so that a short history has every case: several batches, several steps. */
export const SIZES: Sizes = { batch: 7, instant: 3, insert: 2, erased: 11, advanceLimit: 6 };

const KNOWN_OWNERS = 2;
const WATCHES = { maxWatches: 100, maxOwnerWatches: 100 };
const RECENT = 64 * 1024;
/** Milliseconds until an instance that did not start is started again. */
const RESTART = 1_000;

/** Where instances run. */
export interface Surroundings {
  readonly server: Server;
  readonly network: Network;
  /** Undefined: nothing is published. */
  readonly topic: FakeTopic | undefined;
  readonly key: LogKey;
}

/** An instance does not start without a checkpoint of the read model: whoever runs it starts it again. */
async function restarted<T>(start: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await start();
    } catch (error) {
      if (!(error instanceof BrokenReadModelError)) throw error;
      await pause(RESTART);
    }
}

/** What a started instance consists of. */
export interface Service {
  readonly store: Store;
  readonly log: EventLog;
  readonly watches: Watches;
  readonly tree: Tree;
  readonly checkpoints: LogCheckpoints;
}

/** An instance of the service in one process, composed as the service is, without its transports. */
export class Instance {
  readonly process: Process;
  readonly publishes: boolean;
  readonly #surroundings: Surroundings;
  /** Its disk: what it keeps outlives it. */
  #signed: SignedCheckpoint | undefined;
  readonly #kept: KeptCheckpoint = {
    read: async () => this.#signed,
    write: async (checkpoint) => {
      this.#signed = checkpoint;
    },
  };
  #taker: Taker | undefined;
  #service: Service | undefined;

  constructor(process: Process, surroundings: Surroundings) {
    this.process = process;
    this.publishes = surroundings.topic !== undefined;
    this.#surroundings = surroundings;
    surroundings.network.listen(process.name, { process, taker: () => this.#taker });
    process.do(() => void this.#start());
  }

  /** Undefined until it has started, and once it is dead. */
  get service(): Service | undefined {
    return this.process.isDead ? undefined : this.#service;
  }

  async #start(): Promise<void> {
    const { server, network, topic, key } = this.#surroundings;
    const { process } = this;
    const open = async () => new MemoryStore(server.database, server.connection(process, 'store'), SIZES);
    const { store, log } = await restarted(() =>
      openWhenReachable(
        { open, isFinal: () => false },
        { limits: { knownOwners: KNOWN_OWNERS, recentBytes: RECENT }, onFault: () => {} },
        new AbortController().signal,
        () => {},
      ),
    );
    const watches = new Watches(log, WATCHES);
    this.#taker = log.join({
      contact: () => ({ address: process.name }),
      openLink: network.linksOf(process),
      onReachable: () => {},
      onFault: () => {},
    });
    log.finishErasures(() => {});
    const tree = new Tree(store, log.changed);
    const checkpoints = new LogCheckpoints({
      head: () => log.head(),
      tree,
      key: async () => key,
      kept: this.#kept,
      onFault: () => {},
    });
    if (topic !== undefined)
      new Publisher({
        store: new MemoryStore(server.database, server.connection(process, 'publisher'), SIZES),
        topic: topic.from(process),
        onChange: () => {},
      });
    this.#service = { store, log, watches, tree, checkpoints };
  }
}
