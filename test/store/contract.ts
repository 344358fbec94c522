import { describe } from 'vitest';
import { eventsContract } from './contract-events.ts';
import { namedContract } from './contract-named.ts';
import { readModelContract } from './contract-read-model.ts';
import { repairContract } from './contract-repair.ts';
import { selectionContract } from './contract-selection.ts';
import { snapshotContract } from './contract-snapshot.ts';
import type { OpenStore } from './open-store.ts';
import { treeContract } from './tree.ts';

export type { OpenStore } from './open-store.ts';

/** What every implementation of the store port has to keep. */
export function storeContract(name: string, open: OpenStore): void {
  describe(`store on ${name}`, () => {
    eventsContract(open);
    namedContract(open);
    readModelContract(open);
    snapshotContract(open);
    selectionContract(open);
    repairContract(open);
    treeContract(open);
  });
}
