import { describe } from 'vitest';
import { logContracts } from '../../store/log-contract.ts';
import { HAS_MONGODB, openMongoStore } from '../../store/open-mongo.ts';

describe.runIf(HAS_MONGODB)('MongoDB', () => logContracts('MongoDB', openMongoStore));
