import { MongoClient } from 'mongodb';
import { collectionsOf } from '../../src/log/mongo/collections.ts';
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
  const { plants, checkpoints, leases } = collectionsOf(db);
  return {
    instances: 2,
    environment: { MONGODB_URI: uri },
    openInstance: () => openMongo(uri),
    openOperator: () => openMongo(uri),
    openAuditor: () => openMongo(uri, { readOnly: true }),
    another: openMongoPlatform,
    async rows() {
      const documents = await plants.find().sort({ _id: 1 }).toArray();
      const checkpoint = await checkpoints.findOne({ _id: 'plants' });
      return { rows: documents.map(toRow), checkpoint: Number(checkpoint!.position) };
    },
    async putRow(row) {
      const { _id, ...rest } = toPlantDocument(row);
      await plants.replaceOne({ _id }, rest, { upsert: true });
    },
    async removeRow(key) {
      await plants.deleteOne({ _id: toPlantId(key) });
    },
    async expireLeases() {
      await leases.updateMany({}, { $set: { until: new Date(0) } });
    },
    async remove() {
      await db.dropDatabase();
      await client.close();
    },
  };
}
