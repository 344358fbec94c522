import { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { openLogKey } from '../../transparency/log-key.ts';
import { print } from '../output.ts';
import { withStore } from '../with-store.ts';

/** `plantstore audit key` */
export const keyCommand = (): Command =>
  new Command('key')
    .description('Print the vkey of the log: what verifies its checkpoints and receipts, for whoever is to trust it.')
    .addHelpText(
      'after',
      `
A vkey (c2sp.org/signed-note) is the name of the log, the id of the key and the
key itself. The service shows the same at /log/key; take it from here, by a way
that you trust.

Example:
  $ plantstore audit key > log.vkey`,
    )
    .action(() => withStore('read', async (store) => print([(await openLogKey(loadConfig(), store)).vkey])));
