import { Command } from 'commander';
import { headJson } from '../audit/formats/event-json.ts';
import { backUp } from '../log/sqlite/backup.ts';
import { print } from './output.ts';
import { inDataDirectory, storeConfig } from './with-store.ts';

/** `plantstore backup` */
export const backupCommand = (): Command =>
  new Command('backup')
    .description('Copy a consistent snapshot of the embedded store to one file. Works while the service runs.')
    .argument('<file>', 'a file that does not exist yet')
    .addHelpText(
      'after',
      `
Prints the head of the copy once the copy is on disk. Only the file's owner can
read it. To restore it, put it into an empty DATA_DIR as plantstore.sqlite, or
see docs/operations.md. To back up a store on MongoDB, use mongodump.

Example:
  $ plantstore backup monday.sqlite
  {"position":42,"hash":"...","time":"2026-01-02T03:04:05.678Z"}`,
    )
    .action(async (file: string) => {
      const { mongodbUri, dataDirectory } = storeConfig();
      if (mongodbUri !== undefined)
        throw new Error(
          'plantstore backup copies the embedded store, but MONGODB_URI is set; use mongodump --oplog or plantstore audit export',
        );
      const head = await inDataDirectory(dataDirectory, () => backUp(dataDirectory, file));
      await print([headJson(head)]);
    });
