import { join } from 'node:path';
import { repairReadModel } from '../audit/repair.ts';
import { type Config, loadConfig } from '../config.ts';
import { refuseForeignWal } from '../log/sqlite/connection.ts';
import { aboutStore } from '../log/sqlite/damage.ts';
import { lockDataDirectory } from '../log/sqlite/lock.ts';
import { DATABASE_FILE, openSqlite } from '../log/sqlite/store.ts';
import { isFormerSqlite, upgradeSqlite } from '../log/sqlite/upgrade.ts';
import type { Store } from '../log/store.ts';
import { reportUpgrade } from '../log/upgrade.ts';
import { aboutDataDirectory } from '../start/start-error.ts';

/**
 * What a command does with the store. `read` changes nothing. With `repair` the service may run. With `erase` and
 * `import` no service may run on an embedded store. Only `import` creates a missing store; the others reject it.
 */
export type Access = 'read' | 'repair' | 'erase' | 'import';

/** What to do if a service runs on an embedded store that a command needs for itself. */
const IF_SERVED: Readonly<Record<'erase' | 'import' | 'upgrade', string>> = {
  erase: 'call ErasureService there, which erases while the service runs, or stop it first (docs/erasure.md)',
  import: 'stop it first, or set DATA_DIR to an empty folder',
  upgrade: 'stop it first',
};

/**
 * Milliseconds for which a command waits for a lock of the service, such as that of a step of an erasure on a slow
 * disk.
 */
const BESIDE_SERVICE = 10_000;

/** The settings for a command on the store, which accepts no token, and has another heap than the service. */
export const storeConfig = (): Config => loadConfig(undefined, { serves: false });

/** Opens the store that the environment names, and closes it after the work. */
export async function withStore<T>(access: Access, work: (store: Store) => Promise<T>): Promise<T> {
  const config = storeConfig();
  // With MongoDB too: keys may be there.
  return inDataDirectory(config.dataDirectory, async () => {
    await using held = new AsyncDisposableStack();
    return await work(held.adopt(await opened(config, access, held), (store) => store.close()));
  });
}

async function opened(
  { mongodbUri, dataDirectory }: Config,
  access: Access,
  held: AsyncDisposableStack,
): Promise<Store> {
  const readOnly = access === 'read';
  // A missing store means a wrong path or URI, so it is not created.
  const mustExist = access !== 'import';
  if (mongodbUri !== undefined) {
    const { openMongo } = await import('../log/mongo/store.ts');
    return openMongo(mongodbUri, { readOnly, mustExist });
  }
  refuseForeignWal(join(dataDirectory, DATABASE_FILE));
  if (!readOnly && isFormerSqlite(dataDirectory)) await upgradeDataDirectory(dataDirectory);
  if (mustExist && !readOnly) await openSqlite(dataDirectory, { readOnly: true }).close();
  const alone = access === 'import' || access === 'erase';
  if (alone) held.adopt(lockDataDirectory(dataDirectory, IF_SERVED[access]), async (unlock) => unlock());
  return openSqlite(dataDirectory, { readOnly, alone, timeout: BESIDE_SERVICE });
}

/** Upgrades a store of 1.0.0, and says so on stderr. Returns whether it was one. Rejects while it is served. */
export async function upgradeDataDirectory(dataDirectory: string): Promise<boolean> {
  using held = new DisposableStack();
  held.defer(lockDataDirectory(dataDirectory, IF_SERVED.upgrade));
  return await reportUpgrade(upgradeSqlite(dataDirectory, repairReadModel), console.error);
}

/**
 * The result of work that uses the data directory. If that cannot be used, the error names DATA_DIR, as for `serve`. An
 * error of SQLite names the store's database; other files of SQLite are named where they are opened.
 */
export async function inDataDirectory<T>(dataDirectory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw aboutStore(join(dataDirectory, DATABASE_FILE), aboutDataDirectory(error, dataDirectory));
  }
}
