import { Command } from 'commander';
import { rebuildReadModel } from '../../audit/rebuild/rebuild.ts';
import { print } from '../output.ts';
import { ProgressBar } from '../progress.ts';
import { withStore } from '../with-store.ts';

/** `plantstore audit rebuild` */
export const rebuildCommand = (): Command =>
  new Command('rebuild')
    .description(
      'Build the read model anew from the log, beside the live one; verify it, and put it in its place at once. The nodes of the Merkle tree are made anew too.',
    )
    .addHelpText(
      'after',
      `
The service may go on meanwhile. Killed at any moment, it leaves the old one in
place. Prints the position at which the new one stands.

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
