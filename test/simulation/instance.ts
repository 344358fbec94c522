import { PlantStoreError } from '../../src/domain/errors.ts';
import type { Receiver } from '../../src/log/forward/receiver.ts';
import type { EventLog } from '../../src/log/log.ts';
import { openWhenReachable } from '../../src/log/open.ts';
import type { Store } from '../../src/log/store.ts';
import { Tree } from '../../src/log/tree/tree.ts';
import { Watches } from '../../src/plants/watch/watches.ts';
import { Publisher } from '../../src/publisher/publisher.ts';
import { pause } from '../../src/time/pause.ts';
import type { Signer } from '../../src/tlog/note.ts';
import { type Checkpoints, LogCheckpoints } from '../../src/transparency/checkpoints.ts';
import { CosignedCheckpoints, type WitnessOutcome } from '../../src/transparency/cosigned-checkpoints.ts';
import type { Disk } from './machine/disk.ts';
import type { Network } from './machine/network.ts';
import type { Process } from './machine/process.ts';
import type { Server } from './machine/server.ts';
import type { FakeTopic } from './machine/topic.ts';
import type { Witnesses } from './machine/witnesses.ts';
import { MemoryStore, type Sizes } from './store/memory-store.ts';

/** Small, so that a short history has every case: several batches, several steps. */
export const SIZES: Sizes = { batch: 7, instant: 3, insert: 2, erased: 11, advanceLimit: 6 };

const STOPPING = new PlantStoreError('SHUTTING_DOWN', 'this instance stops');
const KNOWN_OWNERS = 2;
const WATCHES = { maxWatches: 100, maxOwnerWatches: 100 };
const RECENT = 64 * 1024;
/** Few events: an instance that was away for long passes over what it missed. */
const TAIL = 32 * 1024;

/** Where instances run. */
export interface Surroundings {
  readonly server: Server;
  readonly network: Network;
  /** Undefined: nothing is published. */
  readonly topic: FakeTopic | undefined;
  readonly signer: Signer;
  /** Called when an instance finds that it cannot serve this store. */
  readonly onStartFailed: (process: Process, error: unknown) => void;
  /** Undefined: checkpoints are served as the log has signed them. */
  readonly witnesses: Witnesses | undefined;
  /** How many witnesses must cosign. */
  readonly quorum: number;
  /** Called with the outcome of each request to a witness. */
  readonly onOutcome: (process: Process, witness: string, outcome: WitnessOutcome, error: unknown) => void;
  /** Called when an instance says that the read model is of no use. */
  readonly onReadModelBroken: (process: Process, fault: Error) => void;
  /** Called when no checkpoint can be made of the log any more. */
  readonly onBroken: (error: Error) => void;
}

/** What a started instance consists of. */
export interface Service {
  readonly store: Store;
  readonly log: EventLog;
  readonly watches: Watches;
  readonly tree: Tree;
  /** Those that are served. */
  readonly checkpoints: Checkpoints;
  /** Undefined: nothing is published. */
  readonly publisher: Publisher | undefined;
}

/** An instance of the service in one process, composed as the service is, without its transports. */
export class Instance {
  readonly process: Process;
  readonly publishes: boolean;
  readonly #surroundings: Surroundings;
  /** What it has there outlives it. */
  readonly disk: Disk;
  /** What it says to be wrong with its store, and with the read model, as its readiness does. */
  readonly faults: { store?: unknown; readModel?: unknown } = {};
  isStopping = false;
  #receiver: Receiver | undefined;
  #service: Service | undefined;

  constructor(process: Process, disk: Disk, surroundings: Surroundings) {
    this.process = process;
    this.disk = disk;
    this.publishes = surroundings.topic !== undefined;
    this.#surroundings = surroundings;
    surroundings.network.listen(process.name, { process, receiver: () => this.#receiver });
    process.do(() => void this.#start().catch((error) => surroundings.onStartFailed(process, error)));
  }

  /** Undefined until it has started, and once it stops or is dead. */
  get service(): Service | undefined {
    return this.process.isDead ? undefined : this.#service;
  }

  async #start(): Promise<void> {
    const { server, network, topic, signer, witnesses, quorum, onOutcome, onReadModelBroken, onBroken } =
      this.#surroundings;
    const { process } = this;
    const open = async () => new MemoryStore(server.database, server.connection(process, 'store'), SIZES);
    const { store, log } = await openWhenReachable(
      { open, isFinal: () => false },
      {
        limits: { knownOwners: KNOWN_OWNERS, recentBytes: RECENT, tailBytes: TAIL },
        publishes: this.publishes,
        onFault: () => {},
        onReachable: (fault) => {
          this.faults.store = fault;
        },
        onReadModel: (fault) => {
          this.faults.readModel = fault;
          if (fault !== undefined) onReadModelBroken(process, fault);
        },
      },
      new AbortController().signal,
      () => {},
    );
    const watches = new Watches(log, WATCHES);
    this.#receiver = log.join({
      contact: () => ({ address: process.name }),
      openLink: network.linksOf(process),
      onReachable: () => {},
      onFault: () => {},
    });
    log.finishErasures(() => {});
    const tree = new Tree(store, log.replaced);
    const signed = new LogCheckpoints({
      head: () => log.head(),
      tree,
      signer: async () => signer,
      kept: this.disk.from(process),
      onFault: () => {},
    });
    const checkpoints =
      witnesses === undefined
        ? signed
        : new CosignedCheckpoints({
            checkpoints: signed,
            witnesses: witnesses.clients(process, tree),
            quorum,
            onOutcome: (...outcome) => onOutcome(process, ...outcome),
            head: () => log.head(),
            onFault: (fault) => fault && onBroken(fault),
          });
    const publisher =
      topic &&
      new Publisher({
        store: new MemoryStore(server.database, server.connection(process, 'publisher'), SIZES),
        topic: topic.from(process),
        onChange: () => {},
      });
    this.#service = { store, log, watches, tree, checkpoints, publisher };
  }

  /** Stops as the service does at SIGTERM: hands writing on, serves for the grace, accepts nothing more, and closes. */
  async stop({ log, watches, publisher }: Service, grace: number): Promise<void> {
    void log.handOn();
    await pause(grace);
    this.#service = undefined;
    watches.close(STOPPING);
    await publisher?.close();
    await log.close();
  }
}
