import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Name of the key's file in the data directory. */
export const DEVELOPMENT_KEY_FILE = 'development-key.pem';

/**
 * The Ed25519 key of development mode, made on first use and readable by its owner alone. Processes that start at once get
 * the same key, and none sees half of one. Rejects with one clear line when the file holds something else.
 */
export async function developmentKey(dataDirectory: string): Promise<KeyObject> {
  const path = join(dataDirectory, DEVELOPMENT_KEY_FILE);
  const pem = (await readIfThere(path)) ?? (await create(dataDirectory, path));
  const key = parse(pem);
  if (key?.asymmetricKeyType !== 'ed25519')
    throw new Error(
      `${path} is damaged: it is not an Ed25519 private key; delete it, and a new key is made (tokens made with the old one end)`,
    );
  return key;
}

async function create(directory: string, path: string): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const draft = `${path}.${randomUUID()}`;
  try {
    await writeFile(draft, pem, { flag: 'wx', mode: 0o600, flush: true });
    // Unlike a rename, a link never replaces the key of a process that was faster.
    await link(draft, path);
    return pem;
  } catch (thrown) {
    if (!hasCode(thrown, 'EEXIST')) throw thrown;
    return await readFile(path, 'utf8');
  } finally {
    await rm(draft, { force: true });
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return undefined;
    throw thrown;
  }
}

function parse(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

const hasCode = (thrown: unknown, code: string): boolean =>
  thrown instanceof Error && (thrown as NodeJS.ErrnoException).code === code;
