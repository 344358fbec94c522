import { randomBytes } from 'node:crypto';
import type { OpenedStore } from '../../store/open-store.ts';
import { atOnce, Database } from './database.ts';
import { MemoryStore } from './memory-store.ts';

/** A store in memory where nothing goes wrong: a majority has each write at once. */
export async function openMemoryStore(): Promise<OpenedStore> {
  const database = new Database(randomBytes(16).toString('hex'), Date.now);
  const handle = async () => new MemoryStore(database, atOnce(database));
  return { store: await handle(), reopen: handle, second: handle, cleanup: async () => {} };
}
