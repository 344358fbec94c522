import type { OpenedLog } from '../log/open.ts';
import type { OwnerHashes } from '../observe/owner-hashes.ts';

/** Milliseconds until a failed read of the key is repeated. */
const RETRY = 5_000;

/**
 * Reads the key with which log lines name owners, and reads it again after each erasure, which replaces it. Resolves
 * after the first attempt. Lines name nobody while the key cannot be read; each such fault goes to `onFault`.
 */
export async function followOwnerKey(
  owners: OwnerHashes,
  { store, log }: OpenedLog,
  onFault: (fault: unknown) => void,
): Promise<void> {
  let reads = 0;
  const read = async () => {
    const number = ++reads;
    owners.key = undefined;
    try {
      const key = await store.ownerKey();
      // A later read may have found a newer key.
      if (number === reads) owners.key = key;
    } catch (fault) {
      onFault(fault);
      if (number === reads) setTimeout(read, RETRY).unref();
    }
  };
  log.onErased(read);
  await read();
}
