import { join } from 'node:path';
import { Command } from 'commander';
import { repairReadModel } from '../audit/repair.ts';
import { refuseForeignWal } from '../log/sqlite/connection.ts';
import { DATABASE_FILE, openSqlite } from '../log/sqlite/store.ts';
import { isFormerSqlite } from '../log/sqlite/upgrade.ts';
import { reportUpgrade } from '../log/upgrade.ts';
import { inDataDirectory, storeConfig, upgradeDataDirectory } from './with-store.ts';

/** `plantstore upgrade` */
export const upgradeCommand = (): Command =>
  new Command('upgrade')
    .description('Upgrade a store of release 1.0.0. That release cannot use the upgraded store, so back it up first.')
    .addHelpText(
      'after',
      `
On MongoDB, stop all instances first. The embedded store is upgraded by the next
start of the service as well. Every event is verified; positions, hashes,
checkpoints and receipts stay the same. If an event does not verify, nothing is
upgraded. While MongoDB does not answer, it waits. Run the command again after an
interruption: on MongoDB the upgrade goes on, and of an embedded store it begins
again. Progress goes to stderr. See docs/operations.md.

Example:
  $ MONGODB_URI=mongodb://... plantstore upgrade`,
    )
    .action(async () => {
      const { mongodbUri, dataDirectory } = storeConfig();
      const isDone = await (mongodbUri === undefined
        ? inDataDirectory(dataDirectory, () => upgradedFolder(dataDirectory))
        : upgradedDatabase(mongodbUri));
      if (!isDone) console.error('there is nothing to upgrade');
    });

async function upgradedFolder(dataDirectory: string): Promise<boolean> {
  refuseForeignWal(join(dataDirectory, DATABASE_FILE));
  if (isFormerSqlite(dataDirectory)) return upgradeDataDirectory(dataDirectory);
  // A missing store means a wrong path.
  await openSqlite(dataDirectory, { readOnly: true }).close();
  return false;
}

async function upgradedDatabase(uri: string): Promise<boolean> {
  const { upgradeMongo } = await import('../log/mongo/upgrade.ts');
  const wait = (fault: string) => console.error(`waiting for MongoDB: ${fault}; the upgrade goes on by itself`);
  return reportUpgrade(upgradeMongo(uri, repairReadModel, wait), console.error);
}
