import { createReadStream } from 'node:fs';
import { Command, Option } from 'commander';
import { headJson } from '../audit/event-json.ts';
import { FORMATS } from '../audit/formats.ts';
import { importLog } from '../audit/import.ts';
import { print } from './output.ts';
import { withStore } from './with-store.ts';

/** `plantstore audit import` */
export const importCommand = (): Command =>
  new Command('import')
    .description(
      'Bring an export into an empty store, with positions, times and hashes as they are. Verifies each event first.',
    )
    .argument('<file>', 'what audit export printed; - for stdin')
    .addOption(
      new Option('--format <format>', 'the format that it was exported in')
        .choices(Object.keys(FORMATS))
        .default('ndjson'),
    )
    .addHelpText(
      'after',
      `
No service may run on the store meanwhile. An import that was killed goes on
when it is run again with the same file. The head at the end is the head that
was exported.

Examples:
  $ plantstore audit import log.ndjson
  $ plantstore audit export | MONGODB_URI=mongodb://... plantstore audit import -`,
    )
    .action((file: string, { format }: { format: keyof typeof FORMATS }) =>
      withStore('own', async (store) => {
        const source = file === '-' ? process.stdin : createReadStream(file);
        let told = performance.now();
        for await (const position of importLog(store, FORMATS[format].decode(source))) {
          if (performance.now() < told + PROGRESS) continue;
          told = performance.now();
          console.error(`${position.toLocaleString('en')} events`);
        }
        await print([headJson(await store.head())]);
      }),
    );

/** Milliseconds between two lines of progress; how many events there are is not known. */
const PROGRESS = 2_000;
