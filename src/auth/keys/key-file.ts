import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makePrivateFolder, readText, sync } from '../../files.ts';

/**
 * The Ed25519 private key in a file (PKCS #8, PEM). Generates it on first use, readable only by its owner. Concurrent
 * processes get the same, complete key. Rejects with one line if the file contains anything else; `loss` then names the
 * effect of deleting it.
 */
export async function ed25519KeyFile(path: string, loss: string): Promise<KeyObject> {
  const pem = existsSync(path) ? await readText(path) : await create(path);
  const key = ed25519KeyOf(pem);
  if (key !== undefined) return key;
  throw new Error(
    `${path} is damaged: it is not an Ed25519 private key; restore it, or delete it to generate a new key (${loss})`,
  );
}

/** The Ed25519 private key in a PEM text. Undefined if there is none. */
export function ed25519KeyOf(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}

async function create(path: string): Promise<string> {
  makePrivateFolder(dirname(path));
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const draft = `${path}.${randomUUID()}`;
  try {
    await writeFile(draft, pem, { flag: 'wx', mode: 0o600, flush: true });
    // Unlike a rename, a link never replaces the key of a faster process.
    await link(draft, path);
    await sync(dirname(path));
    return pem;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    return await readText(path);
  } finally {
    await rm(draft, { force: true });
  }
}
