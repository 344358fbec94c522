import { join } from 'node:path';
import { Command } from 'commander';
import { headJson } from '../../audit/formats/event-json.ts';
import type { Store } from '../../log/store.ts';
import { Tree } from '../../log/tree/tree.ts';
import { formatVerifierKey } from '../../tlog/verifier-key.ts';
import { signNext } from '../../transparency/checkpoints.ts';
import { openLogSigner } from '../../transparency/log-key.ts';
import {
  CHECKPOINT_FILE,
  type KeptCheckpoint,
  keptIn,
  type SignedCheckpoint,
} from '../../transparency/signed-checkpoint.ts';
import { print, write } from '../output.ts';
import { storeConfig, withStore } from '../with-store.ts';

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
the public key. A log that does not extend the checkpoint that was signed last,
which DATA_DIR keeps, is not signed.

Examples:
  $ plantstore audit checkpoint > monday.checkpoint
  $ plantstore audit verify --checkpoint monday.checkpoint --key "$(plantstore audit key)"`,
    )
    .action(() =>
      withStore('read', async (store) => {
        const { note } = await signNow(store, new Tree(store));
        await write([note]);
      }),
    );

/** Signs a checkpoint of a store's log as the service does. Rejects with BrokenTreeError. */
export function signNow(store: Store, tree: Tree): Promise<SignedCheckpoint> {
  const signer = () => openLogSigner(storeConfig(), store);
  return signNext({ head: () => store.head(), tree, signer, kept: keptHere() }, undefined);
}

/** The last checkpoint that DATA_DIR keeps. A warning tells of one of another log or key. */
export const keptHere = (): KeptCheckpoint =>
  keptIn(join(storeConfig().dataDirectory, CHECKPOINT_FILE), (why) => console.error(`warning: ${why}`));

/** `plantstore audit head` */
export const headCommand = (): Command =>
  new Command('head')
    .description('Print the head of the log: position, hash and time of the last event.')
    .addHelpText(
      'after',
      `
An empty log has position 0. For a signed statement of the log, use
plantstore audit checkpoint.

Example:
  $ plantstore audit head
  {"position":42,"hash":"...","time":"2026-01-02T03:04:05.678Z"}`,
    )
    .action(() => withStore('read', async (store) => print([headJson(await store.head())])));

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
    .action(() =>
      withStore('read', async (store) => {
        const { key } = await openLogSigner(storeConfig(), store);
        // Warns of a key that is not the service's, such as in a shell without its settings.
        await keptHere()
          .read(key)
          .catch(() => {});
        await print([formatVerifierKey(key)]);
      }),
    );
