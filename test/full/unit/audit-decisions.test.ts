import { openMemoryStore } from '../../simulation/store/open-memory.ts';
import { decisionsContract } from '../../store/audit-decisions.ts';

decisionsContract('memory', openMemoryStore);
