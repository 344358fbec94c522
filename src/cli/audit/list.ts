import { Command } from 'commander';
import { type Moment, plantsAsOf } from '../../audit/fold/as-of.ts';
import { plantJson } from '../../audit/formats/event-json.ts';
import { moment } from '../arguments.ts';
import { write } from '../output.ts';
import { withStore } from '../with-store.ts';

/** `plantstore audit list` */
export const listCommand = (): Command =>
  new Command('list')
    .description('Print the plants as they were at any moment: the fold of the log up to there, one plant a line.')
    .option('--owner <name>', "only this owner's plants")
    .option(
      '--as-of <moment>',
      'after the event at this position, or after all events of this time and earlier',
      moment,
    )
    .addHelpText(
      'after',
      `
Without --as-of: as they are now. The position that the list stands at goes to
stderr; asked for by it, the answer is the same for ever. The events up to
there are read, so the time it takes grows with the position.

Examples:
  $ plantstore audit list --owner alice --as-of 42
  {"owner":"alice","id":7,"name":"Fern","tag":"indoor"}
  $ plantstore audit list --as-of 2026-01-02T03:04:05Z`,
    )
    .action(({ owner, asOf }: { owner?: string; asOf?: Moment }) =>
      withStore('read', async (store) => {
        const { position, plants } = await plantsAsOf(store, asOf, owner);
        console.error(`as of position ${position}`);
        await write(lines(plants));
      }),
    );

async function* lines(batches: AsyncIterable<readonly Parameters<typeof plantJson>[0][]>): AsyncGenerator<string> {
  for await (const rows of batches) yield rows.map((row) => `${plantJson(row)}\n`).join('');
}
