import type { KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { ed25519KeyFile } from './key-file.ts';

/** Name of the key file in the data directory. */
export const DEVELOPMENT_KEY_FILE = 'development-key.pem';

/** The key of development mode; see ed25519KeyFile. */
export const developmentKey = (dataDirectory: string): Promise<KeyObject> =>
  ed25519KeyFile(join(dataDirectory, DEVELOPMENT_KEY_FILE), 'existing tokens become invalid');
