import { stat } from 'node:fs/promises';
import { Command } from 'commander';
import { headJson } from '../../audit/formats/event-json.ts';
import { checkImport, importLog } from '../../audit/import.ts';
import { readPieces } from '../../files.ts';
import { Finisher } from '../../log/erasure/finisher.ts';
import { ProgressLine, print } from '../output.ts';
import { storeConfig, withStore } from '../with-store.ts';

/** `plantstore audit import` */
export const importCommand = (): Command =>
  new Command('import')
    .description(
      'Import an export into an empty store. Positions, times and hashes stay the same, and every event is verified first.',
    )
    .argument('<file>', 'an export in either format; - for stdin')
    .addHelpText(
      'after',
      `
A file is read twice: nothing is written unless all of it is valid. Input from a
pipe is verified batch by batch, before each write, so the store always holds a
valid beginning of the log. To resume an interrupted import, run it again with
the same export. No service may run on the store meanwhile. Prints the head of
the store, which equals the head of the exported log.

Examples:
  $ plantstore audit import log.ndjson
  $ plantstore audit export | MONGODB_URI=mongodb://... plantstore audit import -`,
    )
    .action(async (file: string) => {
      const { decodeExport } = await import('../../audit/formats/formats.ts');
      // Before a store is made. What is no file can be read only once, such as a named pipe.
      const found = file === '-' ? undefined : await stat(file);
      if (found?.isFile() || found?.isDirectory()) await withProgress(checkImport(decodeExport(readPieces(file))));
      await withStore('import', async (store) => {
        await withProgress(importLog(store, decodeExport(file === '-' ? process.stdin : readPieces(file))));
        // Erasures that were not complete where the export was made.
        const finisher = new Finisher(store, storeConfig().kafka !== undefined);
        await finisher.finish();
        await store.cleared();
        await finisher.close();
        await print([headJson(await store.head())]);
      });
    });

async function withProgress(positions: AsyncIterable<number>): Promise<void> {
  const progress = new ProgressLine();
  let reached = 0;
  for await (const position of positions) {
    reached = position;
    progress.show(position);
  }
  if (reached === 0) throw new Error('the export has no events, so nothing was imported');
}
