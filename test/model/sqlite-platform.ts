import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DATABASE_FILE, openSqlite } from '../../src/log/sqlite/store.ts';
import type { OwnedRow } from '../../src/log/store.ts';
import type { Platform } from './platform.ts';

/** A data directory of its own. It is one service's alone: others only read it, or repair it. */
export async function openSqlitePlatform(): Promise<Platform> {
  const directory = mkdtempSync(join(tmpdir(), 'plantstore-model-'));
  await openSqlite(directory).close();
  const db = new DatabaseSync(join(directory, DATABASE_FILE), { timeout: 10_000 });
  const select = (sql: string): unknown[][] => {
    const query = db.prepare(sql);
    query.setReadBigInts(true);
    query.setReturnArrays(true);
    return query.all() as unknown as unknown[][];
  };
  return {
    instances: 1,
    environment: { DATA_DIR: directory },
    openInstance: async () => openSqlite(directory, { alone: true }),
    openOperator: async () => openSqlite(directory),
    openAuditor: async () => openSqlite(directory, { readOnly: true }),
    another: openSqlitePlatform,
    async rows() {
      const rows = select('SELECT owner, id, name, tag FROM plants ORDER BY owner, id');
      return {
        rows: rows.map(([owner, id, name, tag]) => ({ owner, id, name, tag: tag ?? undefined }) as OwnedRow),
        checkpoint: Number(select("SELECT position FROM checkpoints WHERE name = 'plants'")[0]![0]),
      };
    },
    async putRow({ owner, id, name, tag }) {
      db.prepare('INSERT OR REPLACE INTO plants (owner, id, name, tag) VALUES (?, ?, ?, ?)').run(
        owner,
        id,
        name,
        tag ?? null,
      );
    },
    async removeRow({ owner, id }) {
      db.prepare('DELETE FROM plants WHERE owner = ? AND id = ?').run(owner, id);
    },
    async expireLeases() {
      db.exec('UPDATE leases SET until = 0');
    },
    async remove() {
      db.close();
      rmSync(directory, { recursive: true });
    },
  };
}
