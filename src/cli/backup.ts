import { Command } from 'commander';
import { headJson } from '../audit/formats/event-json.ts';
import { loadConfig } from '../config.ts';
import { backUp } from '../log/sqlite/backup.ts';
import { print } from './output.ts';

/** `plantstore backup` */
export const backupCommand = (): Command =>
  new Command('backup')
    .description('Copy the embedded store into one file, as it is at one instant; works while the service runs.')
    .argument('<file>', 'a file that is not there yet')
    .addHelpText(
      'after',
      `
Prints the head of the copy once all of it is on disk. Only its owner may read
the file. To restore it, put it into an empty DATA_DIR as plantstore.sqlite.
A store on MongoDB is backed up with mongodump.

Example:
  $ plantstore backup monday.sqlite
  {"position":42,"hash":"...","time":"2026-01-02T03:04:05.678Z"}`,
    )
    .action(async (file: string) => {
      const { mongodbUri, dataDirectory } = loadConfig();
      if (mongodbUri !== undefined)
        throw new Error(
          'plantstore backup copies the embedded store, and MONGODB_URI is set: use mongodump --oplog, or plantstore audit export',
        );
      await print([headJson(backUp(dataDirectory, file))]);
    });
