import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Command } from 'commander';
import { headJson } from '../../audit/formats/event-json.ts';
import { decodeExport } from '../../audit/formats/formats.ts';
import { checkImport, importLog } from '../../audit/import.ts';
import { print } from '../output.ts';
import { withStore } from '../with-store.ts';

/** `plantstore audit import` */
export const importCommand = (): Command =>
  new Command('import')
    .description(
      'Bring an export into an empty store, with positions, times and hashes as they are. Asks what audit verify asks first.',
    )
    .argument('<file>', 'what audit export printed, in either format; - for stdin')
    .addHelpText(
      'after',
      `
A file is read twice: nothing is written unless all of it is right. What comes
from a pipe is asked batch by batch, ahead of each write, so what lands is a
right beginning of the log. An import that ended early, for whatever reason,
goes on when it is run again with the same log. No service may run on the store
meanwhile. The head at the end is the head that was exported.

Examples:
  $ plantstore audit import log.ndjson
  $ plantstore audit export | MONGODB_URI=mongodb://... plantstore audit import -`,
    )
    .action((file: string) =>
      withStore('own', async (store) => {
        // Whatever is no file, such as a pipe with a name, can be read but once.
        const isFile = file !== '-' && (await stat(file)).isFile();
        if (isFile) await told('checked', checkImport(decodeExport(createReadStream(file))));
        await told('imported', importLog(store, decodeExport(file === '-' ? process.stdin : createReadStream(file))));
        await print([headJson(await store.head())]);
      }),
    );

/** Milliseconds between two lines of progress; how many events there are is not known. */
const PROGRESS = 2_000;

/** Runs to the end, and says on stderr how far it is. */
async function told(what: string, positions: AsyncIterable<number>): Promise<void> {
  let last = performance.now();
  for await (const position of positions) {
    if (performance.now() < last + PROGRESS) continue;
    last = performance.now();
    console.error(`${position.toLocaleString('en')} events ${what}`);
  }
}
