import { Command } from 'commander';
import { repairReadModel } from '../../audit/repair.ts';
import { Progress, print } from '../output.ts';
import { withStore } from '../with-store.ts';

/** `plantstore audit rebuild` */
export const rebuildCommand = (): Command =>
  new Command('rebuild')
    .description(
      'Repair the read model and the nodes of the Merkle tree from the log: what differs is changed where it stands.',
    )
    .addHelpText(
      'after',
      `
The service may run meanwhile. If the repair is interrupted, what it has
repaired stays. Prints the position of the read model.

Example:
  $ plantstore audit rebuild
  {"checkpoint":42}`,
    )
    .action(() =>
      withStore('write', async (store) => {
        const progress = new Progress();
        let checkpoint = 0;
        for await (const { position, end } of repairReadModel(store)) {
          progress.show(position, end);
          checkpoint = position;
        }
        await print([JSON.stringify({ checkpoint })]);
      }),
    );
