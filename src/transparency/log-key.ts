import type { KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { ed25519KeyFile } from '../auth/keys/key-file.ts';
import { wordsOf } from '../files.ts';
import type { Store } from '../log/store.ts';
import { CannotSignError } from '../log/unavailable.ts';
import type { Signer } from '../tlog/note.ts';
import { noteSigner } from '../tlog/signer.ts';

/** Name of the key file in the data directory. */
export const AUDIT_KEY_FILE = 'audit-key.pem';

/** The settings of the key. */
export interface LogKeySettings {
  /** The Ed25519 private key. Undefined: the key in the data directory, generated on first use. */
  readonly auditSigningKey: KeyObject | undefined;
  readonly dataDirectory: string;
  /** The origin of the log. Undefined: derived from its id. */
  readonly logOrigin: string | undefined;
}

/** The origin of a log with this id, unless LOG_ORIGIN is set. */
export const defaultOrigin = (id: string): string => `plantstore/${id}`;

/**
 * Opens the signer of a log's checkpoints. The name of its key is the origin of the log. Rejects if the store is
 * unreachable, and with CannotSignError if the key file cannot be used.
 */
export async function openLogSigner(settings: LogKeySettings, store: Pick<Store, 'logId'>): Promise<Signer> {
  const { auditSigningKey, dataDirectory, logOrigin } = settings;
  const origin = logOrigin ?? defaultOrigin(await store.logId());
  return noteSigner(origin, auditSigningKey ?? (await keyIn(join(dataDirectory, AUDIT_KEY_FILE))));
}

async function keyIn(path: string): Promise<KeyObject> {
  try {
    return await ed25519KeyFile(path, 'existing checkpoints and receipts still need the old vkey');
  } catch (error) {
    throw new CannotSignError(`the signing key cannot be used: ${wordsOf(path, error)}`, { cause: error });
  }
}

/** Opens the signer on first use and keeps it. Retries after a failure. */
export function logSignerOnDemand(settings: LogKeySettings, store: Pick<Store, 'logId'>): () => Promise<Signer> {
  let signer: Promise<Signer> | undefined;
  return () => {
    signer ??= openLogSigner(settings, store).catch((error) => {
      signer = undefined;
      throw error;
    });
    return signer;
  };
}
