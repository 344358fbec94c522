import { Command } from 'commander';
import { isName } from '../auth/claims.ts';
import { loadConfig } from '../config.ts';
import type { Erased } from '../log/erasure/eraser.ts';
import { openLog } from '../log/log.ts';
import type { Store } from '../log/store.ts';
import { print } from './output.ts';
import { ProgressBar } from './progress.ts';
import { withStore } from './with-store.ts';

/** `plantstore erase` */
export const eraseCommand = (): Command =>
  new Command('erase')
    .description(
      'Forget an owner: delete their plants, and remove what every event of theirs says. It cannot be undone.',
    )
    .requiredOption('--owner <name>', 'who is to be forgotten')
    .option('--actor <name>', 'who does it, as the log keeps it', 'plantstore erase')
    .addHelpText(
      'after',
      `
The events stay, with their positions and hashes, so every proof still holds;
docs/erasure.md says what else may hold the name, such as backups. On MongoDB it
works while the service runs, if the user of MONGODB_URI may update events; on
the embedded store call ErasureService, or stop the service first. What was
begun goes on with the next start of the service, or when this is run again.
Nothing is asked: who may run it, may erase.

Prints the position of the OwnerErased event and how many events it erased;
{"events":0} where the owner had nothing.

Example:
  $ plantstore erase --owner alice
  {"position":42,"events":17}`,
    )
    .action(async ({ owner, actor }: { owner: string; actor: string }) => {
      if (!isName(owner)) throw new Error('the owner is no name that a token may give');
      const { kafka } = loadConfig();
      const erased = await withStore('change', (store) => erase(store, { owner, actor }, kafka === undefined));
      await print([JSON.stringify(erased)]);
    });

/** The log is open meanwhile, since the read model has to follow. */
async function erase(
  store: Store,
  request: { readonly owner: string; readonly actor: string },
  isPublished: boolean,
): Promise<Erased> {
  await using stack = new AsyncDisposableStack();
  const log = stack.adopt(await openLog(store, { onFault: () => {} }), (opened) => opened.close());
  using bar = new ProgressBar();
  for await (const step of log.erase(request, isPublished)) {
    if (!('step' in step)) return step;
    if (step.total !== undefined) bar.show(step.done ?? 0, step.total);
  }
  throw new Error('the erasure ended without an outcome');
}
