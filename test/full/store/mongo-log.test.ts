import { describe } from 'vitest';
import { brokenReadModelContract } from '../../store/broken-read-model.ts';
import { idempotencyContract } from '../../store/idempotency.ts';
import { knownKeysContract } from '../../store/known-keys.ts';
import { listsContract } from '../../store/lists.ts';
import { logContract } from '../../store/log.ts';
import { openMongoDatabase } from '../../store/mongo-database.ts';
import { HAS_MONGODB, openMongoStore } from '../../store/open-mongo.ts';
import { pinnedContract } from '../../store/pinned.ts';
import { DAMAGES, repairedContract, repairsContract } from '../../store/repaired.ts';
import { restoredContract } from '../../store/restored.ts';

const withDatabase = async () => {
  const opened = await openMongoStore();
  return { ...opened, database: async () => openMongoDatabase(opened.uri) };
};

describe.runIf(HAS_MONGODB)('MongoDB', () => {
  logContract('MongoDB', openMongoStore);
  idempotencyContract('MongoDB', openMongoStore);
  knownKeysContract('MongoDB', openMongoStore);
  listsContract('MongoDB', openMongoStore);
  pinnedContract('MongoDB', openMongoStore);
  restoredContract('MongoDB', withDatabase);
  repairedContract('MongoDB', withDatabase);
  // Each damage by itself the repair meets on SQLite.
  repairsContract('MongoDB', withDatabase, DAMAGES.slice(-2));
  brokenReadModelContract('MongoDB', withDatabase);
});
