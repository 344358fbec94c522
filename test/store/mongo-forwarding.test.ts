import { describe } from 'vitest';
import { forwardingContract } from './forwarding.ts';
import { HAS_MONGODB, openMongoStore } from './open-mongo.ts';

describe.runIf(HAS_MONGODB)('MongoDB', () => forwardingContract('MongoDB', openMongoStore));
