import { describe } from 'vitest';
import { forwardingContract } from '../../store/forwarding.ts';
import { HAS_MONGODB, openMongoStore } from '../../store/open-mongo.ts';

describe.runIf(HAS_MONGODB)('MongoDB', () => forwardingContract('MongoDB', openMongoStore));
