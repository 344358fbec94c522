import { storeContract } from '../../store/contract.ts';
import { openMemoryStore } from './open-memory.ts';

storeContract('memory', openMemoryStore);
