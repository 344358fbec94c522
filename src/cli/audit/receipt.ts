import { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import type { Store } from '../../log/store.ts';
import { Tree } from '../../log/tree/tree.ts';
import { openLogKey } from '../../transparency/log-key.ts';
import { signCheckpoint } from '../../transparency/signed-checkpoint.ts';
import { position } from '../arguments.ts';
import { write } from '../output.ts';
import { withStore } from '../with-store.ts';

/** `plantstore audit receipt` */
export const receiptCommand = (): Command =>
  new Command('receipt')
    .description('Print the receipt for an event: the event and a signed proof that the log contains it.')
    .argument('<position>', 'position of the event', position)
    .addHelpText(
      'after',
      `
A tlog-proof (c2sp.org/tlog-proof) whose extra data is the event, in protobuf.
plantstore audit check-receipt verifies it without the log, as does any program
that follows docs/transparency.md. It stays valid even if the log disappears.

Example:
  $ plantstore audit receipt 42 > 42.tlog-proof`,
    )
    .action((at: number) =>
      withStore('read', async (store) => {
        const event = await eventAt(store, at);
        const tree = new Tree(store);
        const { position: size } = await store.head();
        const checkpoint = await signCheckpoint(tree, size, await openLogKey(loadConfig(), store));
        const { makeReceipt } = await import('../../transparency/event-proof.ts');
        await write([await makeReceipt(tree, checkpoint, event)]);
      }),
    );

async function eventAt(store: Store, at: number): Promise<LoggedEvent> {
  if (at > 0) for await (const [event] of store.read(at - 1, { to: at })) return event!;
  throw new Error(`the log has no event at position ${at}`);
}
