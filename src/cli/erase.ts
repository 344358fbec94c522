import { Command } from 'commander';
import { PlantStoreError } from '../domain/errors.ts';
import type { Erased, EraseRequest } from '../log/erasure/eraser.ts';
import type { EventLogOptions } from '../log/log.ts';
import type { Store } from '../log/store.ts';
import { toHex } from '../tlog/bytes.ts';
import { nameOf, ownerName, subjectKey } from './arguments.ts';
import { ProgressLine, print } from './output.ts';
import { withStore } from './with-store.ts';

/** `plantstore erase` */
export const eraseCommand = (): Command =>
  new Command('erase')
    .description(
      'Erase an owner: delete their plants and remove the contents of all their events. This cannot be undone.',
    )
    .requiredOption('--owner <name>', 'the owner to erase', ownerName)
    .option('--actor <name>', 'who erases the owner, for the log', nameOf('an actor'), 'plantstore erase')
    .option('--key <key>', 'subjectKey of an earlier call: wait for the end of that erasure, or begin it', subjectKey)
    .addHelpText(
      'after',
      `
The events stay, with their positions and hashes, so every proof stays valid.
docs/erasure.md lists other places that may hold the name, such as backups. On
MongoDB the service may run meanwhile, and the user of MONGODB_URI needs the
right to update events. On the embedded store, call ErasureService, or stop the
service first. If the service has ever published to Kafka, it tells the topic
of the erasure, and only then removes the name. The command does not ask for
confirmation.

An interrupted erasure resumes when the service starts. To wait for its end, run
this command again with --key and the key that it printed on stderr. Without
--key, or with a key of no earlier erasure of this owner, it begins a new one,
and erases what the owner has added since.

Prints the position of the OwnerErased event, the number of events it erased, and
the key of its subject. Keep the key: with it, plantstore audit check-erasure
proves whom the event erased. Without it nobody can. Prints {"events":0} and says
so if the owner had no events: the name may be misspelled.

Example:
  $ plantstore erase --owner alice
  {"position":42,"events":17,"subjectKey":"5bd1..."}`,
    )
    .action(async ({ owner, actor, key: given }: { owner: string; actor: string; key?: Uint8Array }) => {
      const { position, events, key } = await withStore('erase', (store) => erase(store, { owner, actor, key: given }));
      if (position === undefined) console.error(`nothing to erase: "${owner}" has no events with content`);
      await print([JSON.stringify({ position, events, subjectKey: key && toHex(key) })]);
    });

/** Opens the log, because the erasure waits for its projector. A rejection says what that, or an append, met last. */
async function erase(store: Store, request: EraseRequest): Promise<Erased> {
  let [fault, broken]: [unknown, Error | undefined] = [undefined, undefined];
  const options: EventLogOptions = {
    onFault: (error) => {
      fault = error;
    },
    onReadModel: (error) => {
      broken = error;
    },
  };
  try {
    return await erased(store, request, options);
  } catch (error) {
    const reason = broken ?? fault;
    if (reason === undefined || !(error instanceof PlantStoreError)) throw error;
    throw new Error(`${error.message}; the last fault: ${reason instanceof Error ? reason.message : reason}`, {
      cause: error,
    });
  }
}

async function erased(store: Store, request: EraseRequest, options: EventLogOptions): Promise<Erased> {
  await using stack = new AsyncDisposableStack();
  const { openLog } = await import('../log/log.ts');
  const log = stack.adopt(await openLog(store, options), (opened) => opened.close());
  const progress = new ProgressLine();
  for await (const step of log.erase(request)) {
    if (!('step' in step)) return step;
    if (step.appended !== undefined)
      console.error(`OwnerErased is at position ${step.appended.position}, subjectKey ${toHex(step.appended.key)}`);
    if (step.total !== undefined) progress.show(step.done ?? 0, step.total);
  }
  throw new Error('the erasure ended without an outcome; run it again');
}
