import type { KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { ed25519KeyFile } from '../auth/keys/key-file.ts';
import type { Store } from '../log/store.ts';
import type { Signer } from '../tlog/note.ts';
import { noteKey, noteSigner } from '../tlog/signer.ts';
import { formatVerifierKey } from '../tlog/verifier-key.ts';

/** Name of the key file in the data directory. */
export const AUDIT_KEY_FILE = 'audit-key.pem';

/** The key that signs a log's checkpoints. Its name is the origin of the log. */
export interface LogKey {
  readonly signer: Signer;
  /** The public key, for verifiers. */
  readonly vkey: string;
}

/** The settings of the key. */
export interface LogKeySettings {
  /** The Ed25519 private key. Undefined: the key in the data directory, generated on first use. */
  readonly auditSigningKey: KeyObject | undefined;
  readonly dataDirectory: string;
  /** The origin of the log. Undefined: derived from its id. */
  readonly logOrigin: string | undefined;
}

/** Opens the key. Rejects if the store is unreachable or the key file is damaged. */
export async function openLogKey(settings: LogKeySettings, store: Pick<Store, 'logId'>): Promise<LogKey> {
  const { auditSigningKey, dataDirectory, logOrigin } = settings;
  const origin = logOrigin ?? `plantstore/${await store.logId()}`;
  const privateKey =
    auditSigningKey ??
    (await ed25519KeyFile(
      join(dataDirectory, AUDIT_KEY_FILE),
      'existing checkpoints and receipts still need the old vkey',
    ));
  return { signer: noteSigner(origin, privateKey), vkey: formatVerifierKey(noteKey(origin, privateKey)) };
}

/** Opens the key on first use and keeps it. Retries after a failure. */
export function logKeyOnDemand(settings: LogKeySettings, store: Pick<Store, 'logId'>): () => Promise<LogKey> {
  let key: Promise<LogKey> | undefined;
  return () => {
    key ??= openLogKey(settings, store).catch((error) => {
      key = undefined;
      throw error;
    });
    return key;
  };
}
