import { Command } from 'commander';
import { rebuildReadModel } from '../../audit/rebuild/rebuild.ts';
import { print } from '../output.ts';
import { ProgressBar } from '../progress.ts';
import { withStore } from '../with-store.ts';

/** `plantstore audit rebuild` */
export const rebuildCommand = (): Command =>
  new Command('rebuild')
    .description(
      'Rebuild the read model and the nodes of the Merkle tree from the log. The new read model is verified, then replaces the live one in one step.',
    )
    .addHelpText(
      'after',
      `
The service may run meanwhile. If the rebuild is interrupted, the live read
model stays in place. Prints the position of the new read model.

Example:
  $ plantstore audit rebuild
  {"checkpoint":42}`,
    )
    .action(() =>
      withStore('write', async (store) => {
        using bar = new ProgressBar();
        let checkpoint = 0;
        for await (const { position, end } of rebuildReadModel(store)) {
          bar.show(position, end);
          checkpoint = position;
        }
        await print([JSON.stringify({ checkpoint })]);
      }),
    );
