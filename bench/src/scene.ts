import { MongoClient } from 'mongodb';
import { Issuer } from '../../test/support/issuer.ts';
import { ReplicaSet } from '../../test/support/replica-set.ts';
import type { Measured } from './compare.ts';
import { LoadGenerator } from './load/generator.ts';
import type { Job } from './load/job.ts';
import type { Bench } from './resources.ts';
import { cpuOf, type Server } from './server.ts';

/** mongod's cache; the test support's default is for tests. */
const CACHE = '2G';

const TOKEN_TTL = 36_000;

/** What all sides of a comparison share: one mongod, one issuer of tokens, one generator of load. */
export class Scene {
  readonly #set: ReplicaSet;
  readonly #mongodPid: number;
  readonly #issuer: Issuer;
  readonly #load: LoadGenerator;
  readonly #client: MongoClient;
  readonly #tokens = new Map<string, string>();

  private constructor(set: ReplicaSet, mongodPid: number, issuer: Issuer, load: LoadGenerator, client: MongoClient) {
    this.#set = set;
    this.#mongodPid = mongodPid;
    this.#issuer = issuer;
    this.#load = load;
    this.#client = client;
  }

  /** Starts a replica set of one member, an issuer and the generator; they end with the bench. */
  static async open(bench: Bench): Promise<Scene> {
    const set = await ReplicaSet.start(1);
    bench.defer(() => set.remove());
    await set.command({ setParameter: 1, wiredTigerEngineRuntimeConfig: `cache_size=${CACHE}` });
    const { pid } = await set.command({ serverStatus: 1 });
    const issuer = await Issuer.start();
    issuer.keySet = [{ ...issuer.rsa.jwk, alg: 'RS256', use: 'sig' }];
    bench.defer(() => issuer[Symbol.asyncDispose]());
    const load = new LoadGenerator();
    bench.defer(() => load.stop());
    const client = await new MongoClient(set.uri('admin')).connect();
    bench.defer(() => client.close());
    return new Scene(set, Number(pid), issuer, load, client);
  }

  /** The environment of a server that keeps its data in a database and takes the issuer's tokens. */
  environment(database: string): Record<string, string> {
    return {
      MONGODB_URI: this.#set.uri(database),
      JWKS_URL: this.#issuer.jwksUrl.href,
      JWT_ISSUER: this.#issuer.issuer,
      JWT_AUDIENCE: this.#issuer.audience,
    };
  }

  /** The RS256 token of an owner, the same each time. */
  token(owner: string): string {
    const exp = Math.floor(Date.now() / 1_000) + TOKEN_TTL;
    const token = this.#tokens.get(owner) ?? this.#issuer.token({ alg: 'RS256', claims: { sub: owner, exp } });
    this.#tokens.set(owner, token);
    return token;
  }

  /**
   * Runs a job against a server. What the server and mongod do until `settled` is charged to it; of what mongod does
   * for nobody (its own checkpoints, heartbeats of idle servers) each side gets the part of its window.
   */
  async measure(
    server: Server,
    job: Job,
    settled: () => Promise<void> = async () => {},
  ): Promise<Measured & { readonly nextId: number }> {
    const [service, mongod] = [server.cpu(), cpuOf(this.#mongodPid)];
    const done = await this.#load.run(job).catch((error: Error) => {
      throw new Error(`${server.name}: ${error.message}`);
    });
    await settled();
    const ofService = (server.cpu() - service) / done.count;
    return { ...done, service: ofService, cpu: ofService + (cpuOf(this.#mongodPid) - mongod) / done.count };
  }

  /** Runs a job that is not measured. */
  async run(job: Job): Promise<void> {
    await this.#load.run(job);
  }

  /** Resolves when our read model in a database has caught up with its log. */
  async projected(database: string): Promise<void> {
    const db = this.#client.db(database);
    for (;;) {
      const [last] = await db.collection<{ _id: number }>('events').find().sort({ _id: -1 }).limit(1).toArray();
      const checkpointIn = (name: string, _id: string) =>
        db.collection<{ _id: string; position: number }>(name).findOne({ _id });
      // 1.0.0 keeps it in a collection of its own.
      const checkpoint = (await checkpointIn('plants', 'checkpoint')) ?? (await checkpointIn('checkpoints', 'plants'));
      if ((checkpoint?.position ?? 0) >= (last?._id ?? 0)) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}
