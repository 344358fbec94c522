import { describe } from 'vitest';
import { historiesContract } from '../../model/histories.ts';
import { openMongoPlatform } from '../../model/mongo-platform.ts';
import { HAS_MONGODB } from '../../store/open-mongo.ts';

describe.runIf(HAS_MONGODB)('MongoDB', () => historiesContract('MongoDB', openMongoPlatform));
