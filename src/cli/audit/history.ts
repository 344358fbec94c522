import { Command } from 'commander';
import { type Moment, plantsAsOf } from '../../audit/fold/as-of.ts';
import { plantJson } from '../../audit/formats/event-json.ts';
import { eventsOfOwner } from '../../audit/steady.ts';
import type { Store } from '../../log/store.ts';
import { moment, ownerName, plantId } from '../arguments.ts';
import { write } from '../output.ts';
import { withStore } from '../with-store.ts';

/** `plantstore audit history` */
export const historyCommand = (): Command =>
  new Command('history')
    .description('Print every event of one plant in order, in the format of audit export.')
    .requiredOption('--owner <name>', 'owner of the plant', ownerName)
    .requiredOption('--id <id>', 'id of the plant', plantId)
    .addHelpText(
      'after',
      `
Example:
  $ plantstore audit history --owner alice --id 7`,
    )
    .action(({ owner, id }: { owner: string; id: bigint }) =>
      withStore('read', (store) => write(lines(store, owner, id))),
    );

async function* lines(store: Store, owner: string, id: bigint): AsyncGenerator<string> {
  const { FORMATS } = await import('../../audit/formats/formats.ts');
  let found = false;
  for await (const events of eventsOfOwner(store, { owner, id })) {
    found = true;
    yield FORMATS.ndjson.encode(events);
  }
  if (!found)
    throw new Error(`there is no event of a plant ${id} of ${owner}: the plant never existed, or its owner was erased`);
}

/** `plantstore audit list` */
export const listCommand = (): Command =>
  new Command('list')
    .description('Print the plants as of any position or time, one JSON object per line, computed from the log.')
    .option('--owner <name>', 'only plants of this owner', ownerName)
    .option(
      '--as-of <moment>',
      'after the event at this position, or after the last event at or before this time; a date is its beginning, in UTC',
      moment,
    )
    .addHelpText(
      'after',
      `
Without --as-of: as of now. The position of the list goes to stderr. --as-of with
that position gives the same list again, unless an owner was erased. The command
reads all events up to the position, so its time grows with the position.

Examples:
  $ plantstore audit list --owner alice --as-of 42
  {"owner":"alice","id":7,"name":"Fern","tag":"indoor"}
  $ plantstore audit list --as-of 2026-01-02T03:04:05Z`,
    )
    .action(({ owner, asOf }: { owner?: string; asOf?: Moment }) =>
      withStore('read', async (store) => {
        const { position, plants } = await plantsAsOf(store, asOf, owner);
        console.error(`as of position ${position}`);
        await write(plantLines(plants));
      }),
    );

async function* plantLines(batches: AsyncIterable<readonly Parameters<typeof plantJson>[0][]>): AsyncGenerator<string> {
  for await (const rows of batches) yield rows.map((row) => `${plantJson(row)}\n`).join('');
}
