import { describe } from 'vitest';
import { storeContract } from './contract.ts';
import { HAS_MONGODB, openMongoStore } from './open-mongo.ts';

describe.runIf(HAS_MONGODB)('MongoDB', () => {
  storeContract('MongoDB', openMongoStore);
});
