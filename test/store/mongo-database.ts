import { Binary, type Document, Long, MongoClient } from 'mongodb';
import { CHECKPOINT_ID, checkpointIn, type TreeNodeDocument } from '../../src/log/mongo/collections.ts';
import {
  type EventDocument,
  type PlantDocument,
  toEventDocument,
  toPlantDocument,
  toPlantId,
} from '../../src/log/mongo/documents.ts';
import { encoded } from '../support/encoded.ts';
import type { Database } from '../support/tampering.ts';

const toBson = (value: unknown): unknown =>
  value instanceof Uint8Array
    ? new Binary(value)
    : typeof value === 'number' || typeof value === 'bigint'
      ? Long.fromString(String(value))
      : value;

/** The database that a URI names, to be tampered with. */
export function openMongoDatabase(uri: string): Database & { readonly client: MongoClient } {
  const client = new MongoClient(uri, { ignoreUndefined: true });
  const db = client.db();
  const events = db.collection<EventDocument>('events');
  const plants = db.collection<PlantDocument>('plants');
  const checkpoints = checkpointIn({ plants });
  const checkpoint = { _id: CHECKPOINT_ID } as const;
  const tree = db.collection<TreeNodeDocument>('tree');
  const upsert = { upsert: true };
  return {
    client,
    putEvent: async (event) => {
      const { _id, ...rest } = toEventDocument(encoded(event));
      await events.replaceOne({ _id }, rest, upsert);
    },
    keep: async (position, kept) => {
      for (const [name, value] of Object.entries(kept)) {
        const update = value === undefined ? { $unset: { [name]: '' } } : { $set: { [name]: toBson(value) } };
        await db.collection<Document>('events').updateOne({ _id: Long.fromNumber(position) }, update);
      }
    },
    removeEvent: async (position) => void (await events.deleteOne({ _id: Long.fromNumber(position) })),
    putPlant: async (row) => {
      const { _id, ...rest } = toPlantDocument(row);
      await plants.replaceOne({ _id }, rest, upsert);
    },
    removePlant: async (owner, id) => void (await plants.deleteOne({ _id: toPlantId({ owner, id }) })),
    setCheckpoint: async (position) =>
      void (await checkpoints.updateOne(checkpoint, { $set: { position: Long.fromNumber(position) } })),
    setUpTo: async (position) =>
      void (await checkpoints.updateOne(checkpoint, { $set: { upTo: Long.fromNumber(position) } })),
    removeCheckpoint: async () => void (await checkpoints.deleteOne(checkpoint)),
    putNode: async (index, hash) =>
      void (await tree.replaceOne({ _id: Long.fromNumber(index) }, { hash: new Binary(hash) }, upsert)),
    removeNode: async (index) => void (await tree.deleteOne({ _id: Long.fromNumber(index) })),
    close: () => client.close(),
  };
}
