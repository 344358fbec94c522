import { randomUUID } from 'node:crypto';
import { link, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JWK } from 'jose';

/** A public key, named by its thumbprint (RFC 7638). */
export type PublicKey = JWK & { readonly kid: string };

/** The file of a key that signs here or did: its name is the key's thumbprint, 32 bytes in base64url. */
const fileOf = (kid: string): string => `audit-key-${kid}.json`;
const FILE = /^audit-key-[\w-]{43}\.json$/;

/**
 * Keeps a public key in the data directory, so that it stays published when another takes its place. Has to be done before the key
 * signs. Processes that do so at once are in nobody's way, and none sees half a key. A key that is there is left as it is.
 */
export async function keepPublic(key: PublicKey, dataDirectory: string): Promise<void> {
  const path = join(dataDirectory, fileOf(key.kid));
  const draft = `${path}.${randomUUID()}`;
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  try {
    await writeFile(draft, JSON.stringify(key), { flag: 'wx', mode: 0o600, flush: true });
    await link(draft, path);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  } finally {
    await rm(draft, { force: true });
  }
}

/** The public keys of all that ever signed with this data directory. Writes nothing. */
export async function keptKeys(dataDirectory: string): Promise<PublicKey[]> {
  const names = await readdir(dataDirectory).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return [];
    throw thrown;
  });
  const files = names.filter((name) => FILE.test(name)).sort();
  return Promise.all(files.map((name) => parsed(join(dataDirectory, name))));
}

async function parsed(path: string): Promise<PublicKey> {
  const text = await readFile(path, 'utf8');
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(
      `${path} is damaged: it is not the JSON of a public key; restore it, or heads of that key do not verify`,
    );
  }
}
