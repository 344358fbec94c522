import { closeSync, openSync, readSync, statSync } from 'node:fs';

/** Offset of the version of the format in a database (SQLite's file format, 1.3), and the version without a WAL. */
const FORMAT_OFFSET = 18;
const ROLLBACK_FORMAT = 1;

/**
 * Throws if the write-ahead log beside a database belongs to another one: a backup was put in the place of a database
 * that a killed service had left. SQLite cannot tell, and would apply the changes of the one to the other. A backup has
 * the format without a write-ahead log, which SQLite changes before it first writes one for it.
 *
 * Call it before this process opens the database, because it closes a descriptor of the file, and that drops all POSIX
 * locks of the process on it.
 */
export function refuseForeignWal(path: string): void {
  const wal = `${path}-wal`;
  const size = statSync(wal, { throwIfNoEntry: false })?.size ?? 0;
  if (size > 0 && formatOf(path) === ROLLBACK_FORMAT)
    throw new Error(
      `${path} is a backup, and ${wal} is of the database that it replaced, and would damage it: remove ${wal} and ${path}-shm`,
    );
}

/** The version of the database's format. Undefined without a database. */
function formatOf(path: string): number | undefined {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  const descriptor = openSync(path, 'r');
  try {
    const version = new Uint8Array(1);
    return readSync(descriptor, version, 0, 1, FORMAT_OFFSET) === 0 ? undefined : version[0];
  } finally {
    closeSync(descriptor);
  }
}
