import { describe } from 'vitest';
import { brokenReadModelContract } from './broken-read-model.ts';
import { idempotencyContract } from './idempotency.ts';
import { instancesContract } from './instances.ts';
import { knownKeysContract } from './known-keys.ts';
import { listsContract } from './lists.ts';
import { logContract } from './log.ts';
import { openMongoDatabase } from './mongo-database.ts';
import { HAS_MONGODB, openMongoStore } from './open-mongo.ts';
import { pinnedContract } from './pinned.ts';
import { rebuiltContract } from './rebuilt.ts';
import { restoredContract } from './restored.ts';

const withDatabase = async () => {
  const opened = await openMongoStore();
  return { ...opened, database: async () => openMongoDatabase(opened.uri) };
};

describe.runIf(HAS_MONGODB)('MongoDB', () => {
  logContract('MongoDB', openMongoStore);
  instancesContract('MongoDB', openMongoStore);
  idempotencyContract('MongoDB', openMongoStore);
  knownKeysContract('MongoDB', openMongoStore);
  listsContract('MongoDB', openMongoStore);
  pinnedContract('MongoDB', openMongoStore);
  restoredContract('MongoDB', withDatabase);
  rebuiltContract('MongoDB', withDatabase);
  brokenReadModelContract('MongoDB', withDatabase);
});
