import { chmodSync, statSync } from 'node:fs';
import type { Config } from '../config.ts';
import type { Logger } from '../observe/logger.ts';
import { CLOSED_FOLDER, OTHERS, ROOT } from '../private-folder.ts';

type Settings = Pick<Config, 'dataDirectory' | 'mongodbUri' | 'issuer' | 'auditSigningKey'>;

/**
 * Keeps other users out of an existing data directory, if these settings use one: closes it to them if this user owns
 * it, and throws with one line if somebody else does, because its owner can replace what is in it. A directory of root
 * stays as it is, since volumes of containers are root's; the files in it are private anyway.
 */
export function closeDataDirectory(settings: Settings, logger: Pick<Logger, 'warn'>): void {
  const { dataDirectory: path, mongodbUri, issuer, auditSigningKey } = settings;
  const user = process.getuid?.();
  const found = statSync(path, { throwIfNoEntry: false });
  const isUsed = mongodbUri === undefined || issuer === undefined || auditSigningKey === undefined;
  // What is no directory is told by whoever needs one. Windows has no user ids.
  if (!isUsed || user === undefined || found?.isDirectory() !== true) return;
  const { uid, mode } = found;
  if (uid !== user && uid !== ROOT)
    throw new Error(
      `DATA_DIR ${path} belongs to user ${uid}, who can replace its files, but the service runs as user ${user}: change its owner, or set DATA_DIR to a folder of this user`,
    );
  if ((mode & OTHERS) === 0) return;
  const about = { folder: path, mode: (mode & 0o7777).toString(8) };
  if (uid === user) {
    chmodSync(path, 0o700);
    logger.warn(about, 'DATA_DIR was accessible to other users: its mode is now 700');
  } else logger.warn(about, `DATA_DIR is accessible to other users, who can replace its files: ${CLOSED_FOLDER}`);
}
