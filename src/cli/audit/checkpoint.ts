import { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { Tree } from '../../log/tree/tree.ts';
import { openLogKey } from '../../transparency/log-key.ts';
import { signCheckpoint } from '../../transparency/signed-checkpoint.ts';
import { write } from '../output.ts';
import { withStore } from '../with-store.ts';

/** `plantstore audit checkpoint` */
export const checkpointCommand = (): Command =>
  new Command('checkpoint')
    .description(
      'Print a signed checkpoint of the log. Whoever keeps it can tell later whether anything up to there was changed.',
    )
    .addHelpText(
      'after',
      `
A signed note (c2sp.org/tlog-checkpoint): the origin of the log, its size, and
the root of its Merkle tree. The key that signs is AUDIT_SIGNING_KEY, or one in
DATA_DIR that is made on first use; plantstore audit key prints its public half.

Examples:
  $ plantstore audit checkpoint > monday.checkpoint
  $ plantstore audit verify --checkpoint monday.checkpoint --key "$(plantstore audit key)"`,
    )
    .action(() =>
      withStore('read', async (store) => {
        const { position } = await store.head();
        const tree = new Tree(store, Number.POSITIVE_INFINITY);
        const { note } = await signCheckpoint(tree, position, await openLogKey(loadConfig(), store));
        await write([note]);
      }),
    );
