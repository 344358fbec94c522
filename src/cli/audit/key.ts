import { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { openLogKey } from '../../transparency/log-key.ts';
import { print } from '../output.ts';
import { withStore } from '../with-store.ts';

/** `plantstore audit key` */
export const keyCommand = (): Command =>
  new Command('key')
    .description('Print the vkey of the log, the public key that verifies its checkpoints and receipts.')
    .addHelpText(
      'after',
      `
A vkey (c2sp.org/signed-note) consists of the name of the log, the id of the key
and the public key. The service publishes the same vkey at /log/key. Give
verifiers this one, over a channel that they trust.

Example:
  $ plantstore audit key > log.vkey`,
    )
    .action(() => withStore('read', async (store) => print([(await openLogKey(loadConfig(), store)).vkey])));
