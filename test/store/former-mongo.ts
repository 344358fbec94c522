import { Binary, type Collection, type Document, Long, MongoClient } from 'mongodb';
import { expect } from 'vitest';
import { repairReadModel } from '../../src/audit/repair.ts';
import { openMongo } from '../../src/log/mongo/store.ts';
import { upgradeMongo } from '../../src/log/mongo/upgrade.ts';
import { expectTakenOver, loadFormer } from './former.ts';
import { dropDatabase, newDatabase } from './open-mongo.ts';

/** A database that 1.0.0 wrote. */
export class FormerMongo implements AsyncDisposable {
  readonly uri = newDatabase();
  readonly #client = new MongoClient(this.uri, { promoteLongs: false });

  static async load(): Promise<FormerMongo> {
    const former = new FormerMongo();
    await loadFormer(former.uri);
    return former;
  }

  async reload(): Promise<void> {
    await this.#client.db().dropDatabase();
    await loadFormer(this.uri);
  }

  documents(name: string, filter: object = {}): Promise<Document[]> {
    return this.#collection(name).find(filter).sort({ _id: 1 }).toArray();
  }

  /** The document with the version. */
  async schema(): Promise<Document> {
    return (await this.documents('meta', { _id: 'schema' }))[0]!;
  }

  async update(name: string, filter: object, change: object): Promise<void> {
    await this.#collection(name).updateMany(filter, change);
  }

  async replace(name: string, document: Document): Promise<void> {
    await this.#collection(name).replaceOne({ _id: document._id }, document);
  }

  async insert(name: string, documents: Document[]): Promise<void> {
    await this.#collection(name).insertMany(documents);
  }

  async remove(name: string, filter: object): Promise<void> {
    await this.#collection(name).deleteMany(filter);
  }

  /** The checkpoint and the rows as 1.0.0 leaves them when a rebuild was killed after others. */
  async rebuild(): Promise<void> {
    await this.#client.db().renameCollection('plants', 'plants_3');
    await this.#collection('plants_4').insertOne({ left: true });
    const named = { collection: 'plants_3', building: 'plants_4', rebuilds: 4 };
    await this.update('checkpoints', { _id: 'plants' }, { $set: named });
  }

  async upgrade(uri = this.uri, onWait?: (fault: string) => void): Promise<void> {
    for await (const _ of upgradeMongo(uri, repairReadModel, onWait));
  }

  /** Expects a store of this release, with all that 1.0.0 had, and a read model and a tree that go to its end. */
  async expectUpgraded(): Promise<void> {
    const store = await openMongo(this.uri);
    await expectTakenOver(store);
    await store.close();
    expect(await this.schema()).toEqual({ _id: 'schema', version: 5 });
    const checkpoint = { _id: 'checkpoint', position: Long.fromNumber(573), generation: expect.any(Long) };
    expect(await this.documents('plants', { _id: 'checkpoint' })).toEqual([checkpoint]);
    const nodes = [0, 1].map((node) => ({ _id: Long.fromNumber(node), hash: expect.any(Binary) }));
    expect(await this.documents('tree')).toEqual(nodes);
    const names = (await this.#client.db().collections()).map(({ collectionName }) => collectionName);
    expect(names.toSorted()).toEqual(['events', 'leases', 'meta', 'plants', 'tree']);
  }

  #collection(name: string): Collection {
    return this.#client.db().collection(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
    await dropDatabase(this.uri);
  }
}
