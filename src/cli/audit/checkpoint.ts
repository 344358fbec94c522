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
    .description('Print a signed checkpoint of the log. Keep it to verify later that nothing before it was changed.')
    .addHelpText(
      'after',
      `
A signed note (c2sp.org/tlog-checkpoint): the origin of the log, its size, and
the root of its Merkle tree. AUDIT_SIGNING_KEY signs it; if that is unset, a key
in DATA_DIR does, which is generated on first use. plantstore audit key prints
the public key.

Examples:
  $ plantstore audit checkpoint > monday.checkpoint
  $ plantstore audit verify --checkpoint monday.checkpoint --key "$(plantstore audit key)"`,
    )
    .action(() =>
      withStore('read', async (store) => {
        const { position } = await store.head();
        const { note } = await signCheckpoint(new Tree(store), position, await openLogKey(loadConfig(), store));
        await write([note]);
      }),
    );
