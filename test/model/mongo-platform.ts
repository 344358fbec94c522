import { MongoClient } from 'mongodb';
import { type CheckpointDocument, type LiveCheckpoint, rowsIn } from '../../src/log/mongo/collections.ts';
import { toPlantDocument, toPlantId, toRow } from '../../src/log/mongo/documents.ts';
import { openMongo } from '../../src/log/mongo/open.ts';
import { newDatabase } from '../store/open-mongo.ts';
import type { Platform } from './platform.ts';

/** A database of its own in the replica set of this run. */
export async function openMongoPlatform(): Promise<Platform> {
  const uri = newDatabase();
  const client = new MongoClient(uri, { ignoreUndefined: true, useBigInt64: false, promoteLongs: false });
  await client.connect();
  const db = client.db();
  const checkpoint = async () =>
    (await db.collection<CheckpointDocument>('checkpoints').findOne({ _id: 'plants' })) as LiveCheckpoint;
  const live = async () => rowsIn(db, (await checkpoint()).collection);
  return {
    instances: 2,
    rebuildEndsLists: true,
    environment: { MONGODB_URI: uri },
    openInstance: () => openMongo(uri),
    openOperator: () => openMongo(uri),
    openAuditor: () => openMongo(uri, { readOnly: true }),
    another: openMongoPlatform,
    async rows() {
      const { position, collection } = await checkpoint();
      const documents = await rowsIn(db, collection).find().sort({ _id: 1 }).toArray();
      return { rows: documents.map(toRow), checkpoint: position.toNumber() };
    },
    async putRow(row) {
      const { _id, ...rest } = toPlantDocument(row);
      await (await live()).replaceOne({ _id }, rest, { upsert: true });
    },
    async removeRow(key) {
      await (await live()).deleteOne({ _id: toPlantId(key) });
    },
    async expireLeases() {
      await db.collection('leases').updateMany({}, { $set: { until: new Date(0) } });
    },
    async leftovers() {
      const { collection } = await checkpoint();
      const names = (await db.collections()).map(({ collectionName }) => collectionName);
      return names.filter((name) => name.startsWith('plants') && name !== collection);
    },
    async remove() {
      await db.dropDatabase();
      await client.close();
    },
  };
}
