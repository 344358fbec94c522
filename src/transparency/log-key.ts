import type { KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { ed25519KeyFile } from '../auth/keys/key-file.ts';
import type { Store } from '../log/store.ts';
import { noteKey, noteSigner } from '../tlog/ed25519.ts';
import type { Signer } from '../tlog/note.ts';
import { formatVerifierKey } from '../tlog/verifier-key.ts';

/** Name of the key's file in the data directory. */
export const AUDIT_KEY_FILE = 'audit-key.pem';

/** The key that signs a log's checkpoints. Its name is the origin of the log. */
export interface LogKey {
  readonly signer: Signer;
  /** The public half, for whoever verifies. */
  readonly vkey: string;
}

/** What the settings say of the key. */
export interface LogKeySettings {
  /** The Ed25519 private key; undefined: one in the data directory, which is made on first use. */
  readonly auditSigningKey: KeyObject | undefined;
  readonly dataDirectory: string;
  /** Undefined: from the log's id. */
  readonly logOrigin: string | undefined;
}

/** Opens the key. Rejects when the store cannot be reached, or the key's file is damaged. */
export async function openLogKey(
  { auditSigningKey, dataDirectory, logOrigin }: LogKeySettings,
  store: Pick<Store, 'logId'>,
): Promise<LogKey> {
  const origin = logOrigin ?? `plantstore/${await store.logId()}`;
  const privateKey =
    auditSigningKey ??
    (await ed25519KeyFile(
      join(dataDirectory, AUDIT_KEY_FILE),
      'checkpoints and receipts signed with the old one need its vkey',
    ));
  return { signer: noteSigner(origin, privateKey), vkey: formatVerifierKey(noteKey(origin, privateKey)) };
}

/** Opens the key when it is first asked for, and keeps it; what failed is tried again. */
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
