import { loadConfig } from '../config.ts';
import { lockDataDirectory } from '../log/sqlite/lock.ts';
import { openSqlite } from '../log/sqlite/store.ts';
import type { Store } from '../log/store.ts';

/**
 * What a command does with the store: `read` changes nothing; `write` does, and the service may run meanwhile; `own` makes a
 * store that is missing, and where only one service may run, that none does.
 */
export type Access = 'read' | 'write' | 'own';

/** Opens the store that the environment names, and closes it after the work. */
export async function withStore<T>(access: Access, work: (store: Store) => Promise<T>): Promise<T> {
  const { mongodbUri, dataDirectory } = loadConfig();
  if (mongodbUri !== undefined) throw new Error('MONGODB_URI is set, and this release does not have it yet; unset it');
  // Nothing is made where a store is expected: the path is wrong then.
  if (access === 'write') await openSqlite(dataDirectory, { readOnly: true }).close();
  const unlock = access === 'own' ? lockDataDirectory(dataDirectory) : () => {};
  try {
    const store = openSqlite(dataDirectory, { readOnly: access === 'read' });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  } finally {
    unlock();
  }
}
