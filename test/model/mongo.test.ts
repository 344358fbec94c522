import { describe } from 'vitest';
import { HAS_MONGODB } from '../store/open-mongo.ts';
import { historiesContract } from './histories.ts';
import { openMongoPlatform } from './mongo-platform.ts';

describe.runIf(HAS_MONGODB)('MongoDB', () => historiesContract('MongoDB', openMongoPlatform));
