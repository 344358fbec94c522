import { Binary, MongoClient } from 'mongodb';
import { describe } from 'vitest';
import { erasureContract } from '../../store/erasure.ts';
import { HAS_MONGODB, openMongoStore } from '../../store/open-mongo.ts';

/** What is in the bytes of documents. */
const textOf = (value: unknown): string =>
  value instanceof Binary
    ? Buffer.from(value.value()).toString('latin1')
    : value !== null && typeof value === 'object'
      ? Object.values(value).map(textOf).join('\n')
      : '';

/** Every document of every collection, with its bytes as Latin-1 and as Base64. */
async function documentsOf(uri: string): Promise<string> {
  const client = new MongoClient(uri);
  try {
    const collections = await client.db().collections();
    const documents = await Promise.all(collections.map((collection) => collection.find({}).toArray()));
    return JSON.stringify(documents) + textOf(documents);
  } finally {
    await client.close();
  }
}

describe.skipIf(!HAS_MONGODB)('MongoDB', () => {
  erasureContract('MongoDB', async () => {
    const opened = await openMongoStore();
    return {
      ...opened,
      everything: () => documentsOf(opened.uri),
    };
  });
});
