import type { OpenDatabase } from './audit-tampering.ts';
import { brokenReadModelContract } from './broken-read-model.ts';
import { knownPlantsContract } from './known-plants.ts';
import { logContract } from './log.ts';
import { pinnedContract } from './pinned.ts';
import { repairedContract, repairsContract } from './repaired.ts';
import { restoredContract } from './restored.ts';

/** What the log of an instance has to keep on any store, also when somebody changes the database under it. */
export function logContracts(name: string, open: OpenDatabase): void {
  logContract(name, open);
  knownPlantsContract(name, open);
  pinnedContract(name, open);
  restoredContract(name, open);
  repairedContract(name, open);
  repairsContract(name, open);
  brokenReadModelContract(name, open);
}
