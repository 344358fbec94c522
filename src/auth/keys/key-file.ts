import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makePrivateFolder, syncFolder } from '../../private-folder.ts';

/**
 * The Ed25519 private key in a file (PKCS #8, PEM). Generates it on first use, readable only by its owner. Concurrent
 * processes get the same, complete key. Rejects with one line if the file contains anything else; `loss` then names the
 * effect of deleting it.
 */
export async function ed25519KeyFile(path: string, loss: string): Promise<KeyObject> {
  const pem = (await readIfThere(path)) ?? (await create(path));
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {}
  throw new Error(
    `${path} is damaged: it is not an Ed25519 private key; restore it, or delete it to generate a new key (${loss})`,
  );
}

async function create(path: string): Promise<string> {
  makePrivateFolder(dirname(path));
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const draft = `${path}.${randomUUID()}`;
  try {
    await writeFile(draft, pem, { flag: 'wx', mode: 0o600, flush: true });
    // Unlike a rename, a link never replaces the key of a faster process.
    await link(draft, path);
    await syncFolder(dirname(path));
    return pem;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    return await readFile(path, 'utf8');
  } finally {
    await rm(draft, { force: true });
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
}
