import { MongoClient } from 'mongodb';
import { describe } from 'vitest';
import { erasureContract } from '../../store/erasure.ts';
import { openMongoDatabase } from '../../store/mongo-database.ts';
import { HAS_MONGODB, openMongoStore } from '../../store/open-mongo.ts';

/** Every document of every collection, with the entries of every index that names one. */
async function documentsOf(uri: string): Promise<string> {
  const client = new MongoClient(uri);
  try {
    const collections = await client.db().collections();
    const documents = await Promise.all(collections.map((collection) => collection.find({}).toArray()));
    return JSON.stringify(documents);
  } finally {
    await client.close();
  }
}

describe.skipIf(!HAS_MONGODB)('MongoDB', () => {
  erasureContract('MongoDB', async () => {
    const opened = await openMongoStore();
    return {
      ...opened,
      database: async () => openMongoDatabase(opened.uri),
      everything: () => documentsOf(opened.uri),
    };
  });
});
