import { Command } from 'commander';
import type { Store } from '../../log/store.ts';
import { plantId } from '../arguments.ts';
import { write } from '../output.ts';
import { withStore } from '../with-store.ts';

/** `plantstore audit history` */
export const historyCommand = (): Command =>
  new Command('history')
    .description('Print every event of one plant in order, in the format of audit export.')
    .requiredOption('--owner <name>', 'owner of the plant')
    .requiredOption('--id <id>', 'id of the plant', plantId)
    .addHelpText(
      'after',
      `
Example:
  $ plantstore audit history --owner alice --id 7`,
    )
    .action(({ owner, id }: { owner: string; id: bigint }) =>
      withStore('read', async (store) => {
        let found = false;
        await write(
          lines(store, owner, id, () => {
            found = true;
          }),
        );
        if (!found)
          throw new Error(
            `there is no event of a plant ${id} of ${owner}: the plant never existed, or its owner was erased`,
          );
      }),
    );

async function* lines(store: Store, owner: string, id: bigint, onFound: () => void): AsyncGenerator<string> {
  const { FORMATS } = await import('../../audit/formats/formats.ts');
  for await (const events of store.read(0, { owner, id })) {
    onFound();
    yield FORMATS.ndjson.encode(events);
  }
}
