import { join } from 'node:path';
import { aboutStore } from '../log/sqlite/damage.ts';
import { DATABASE_FILE } from '../log/sqlite/store.ts';
import { aboutDataDirectory } from '../start-error.ts';

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
