import { importLog } from '../../src/audit/import.ts';
import { openMongo } from '../../src/log/mongo/store.ts';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import type { Measured, Side } from './compare.ts';
import { history, LISTED, LISTER } from './history.ts';
import type { HttpRequest, Ids } from './load/job.ts';
import { ADD, FIRST_ID, listRequest } from './plants.ts';
import { type PlantStore, plantstore } from './plantstore.ts';
import type { Bench } from './resources.ts';
import type { Scene } from './scene.ts';

/** The stores that a log can grow in. */
export const STORES = ['SQLite', 'MongoDB'] as const;
/** One of them. */
export type Store = (typeof STORES)[number];

/** A log before the service starts on it. */
export interface Size {
  readonly events: number;
  readonly owners: number;
}

/** What is done at each size, by the names that a comparison has for it. */
export const growthWorks = (store: Store) => ({
  start: `${store}, from spawn to ready`,
  lists: `${store}, GET the first ${LISTED} plants, ${CONNECTIONS} connections`,
  adds: `${store}, POST, ${CONNECTIONS} connections`,
});

/** The name of a size. */
export const sizeName = ({ events, owners }: Size): string =>
  `${compact.format(events)} events, ${compact.format(owners)} owner${owners === 1 ? '' : 's'}`;

const compact = new Intl.NumberFormat('en', { notation: 'compact' });

const CONNECTIONS = 64;
/** Adds in one window: few, so that the shortest log stays short. */
const ADDS = 2_000;
/** Ids that no history reaches. */
const NEW_IDS = FIRST_ID + 100_000_000;
const LIST = listRequest(`/plants?limit=${LISTED}`, LISTED);

/** The service on a log of some size. */
export class GrowthSide implements Side {
  readonly name: string;
  readonly #scene: Scene;
  readonly #works: ReturnType<typeof growthWorks>;
  readonly #start: () => Promise<PlantStore>;
  #server: PlantStore;
  #nextId = NEW_IDS;

  private constructor(store: Store, size: Size, scene: Scene, start: () => Promise<PlantStore>, server: PlantStore) {
    this.name = sizeName(size);
    this.#works = growthWorks(store);
    this.#scene = scene;
    this.#start = start;
    this.#server = server;
  }

  /** Makes the log by importing it, and starts the service on it. */
  static async open(bench: Bench, scene: Scene, store: Store, size: Size): Promise<GrowthSide> {
    const directory = bench.directory();
    const { MONGODB_URI = '', ...issuer } = scene.environment(`growth-${size.events}-${size.owners}`);
    const opened = store === 'SQLite' ? openSqlite(directory) : await openMongo(MONGODB_URI);
    for await (const _ of importLog(opened, history(size.events, size.owners)));
    await opened.close();
    const start = () => plantstore(directory, store === 'SQLite' ? issuer : { ...issuer, MONGODB_URI });
    const side = new GrowthSide(store, size, scene, start, await start());
    bench.defer(() => side.stop());
    return side;
  }

  async run(work: string, seconds: number): Promise<Measured | undefined> {
    switch (work) {
      case this.#works.start:
        return this.#restart();
      case this.#works.lists:
        return this.#measure(LISTER, LIST, seconds);
      case this.#works.adds:
        return this.#add();
    }
    return undefined;
  }

  /** Resident memory of the service, in bytes. */
  resident(): number {
    return this.#server.resident();
  }

  /** Stops the service; may be called more than once. */
  stop(): Promise<void> {
    return this.#server.stop();
  }

  async #restart(): Promise<Measured> {
    await this.stop();
    const since = performance.now();
    this.#server = await this.#start();
    const time = performance.now() - since;
    const cpu = this.#server.cpu();
    return { count: 1, rate: 1_000 / time, p50: time, p99: time, max: time, service: cpu, cpu, client: 0 };
  }

  async #add(): Promise<Measured> {
    const ids = { from: this.#nextId, to: this.#nextId + ADDS };
    this.#nextId = ids.to;
    return this.#measure('writer', ADD, Number.POSITIVE_INFINITY, ids);
  }

  #measure(owner: string, request: HttpRequest, seconds: number, ids?: Ids): Promise<Measured> {
    return this.#scene.measure(this.#server, {
      protocol: 'http',
      urls: [this.#server.url],
      tokens: [this.#scene.token(owner)],
      requests: [request],
      connections: CONNECTIONS,
      seconds,
      ...(ids && { ids }),
    });
  }
}
