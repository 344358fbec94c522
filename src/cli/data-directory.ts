import { aboutDataDirectory } from '../start-error.ts';

/** The result of work that uses the data directory. If that cannot be used, the error names DATA_DIR, as for `serve`. */
export async function inDataDirectory<T>(dataDirectory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw aboutDataDirectory(error, dataDirectory);
  }
}
