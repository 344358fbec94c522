// The thread of fold.ts: keeps the fold in a temporary SQLite database.
import { DatabaseSync } from 'node:sqlite';
import { parentPort } from 'node:worker_threads';
import { IDEMPOTENCY_TTL } from '../../domain/idempotency.ts';
import type { PlantKey } from '../../domain/plant.ts';
import { type Cell, EVENT_CELLS, type FoldReply, type FoldRequest, LIST_ROWS, type Misfit } from './messages.ts';

/** Page cache in KiB. The rest goes to an unnamed file of SQLite, which never outlives the process. */
const CACHE = 64 * 1024;

const db = new DatabaseSync('');
db.exec(`
  PRAGMA cache_size = -${CACHE}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
  CREATE TABLE plants (owner TEXT, id INTEGER, name TEXT, tag TEXT, PRIMARY KEY (owner, id)) STRICT, WITHOUT ROWID;
  CREATE TABLE keys (owner TEXT, key TEXT, time INTEGER, PRIMARY KEY (owner, key)) STRICT, WITHOUT ROWID;
  BEGIN`);
const add = db.prepare('INSERT OR IGNORE INTO plants VALUES (?, ?, ?, ?)');
const put = db.prepare('INSERT OR REPLACE INTO plants VALUES (?, ?, ?, ?)');
const remove = db.prepare('DELETE FROM plants WHERE owner = ? AND id = ?');
const use = db.prepare(
  `INSERT INTO keys VALUES (?, ?, ?)
   ON CONFLICT DO UPDATE SET time = excluded.time WHERE excluded.time - time >= ${IDEMPOTENCY_TTL}`,
);
const erasePlants = db.prepare('DELETE FROM plants WHERE owner = ?');
const eraseKeys = db.prepare('DELETE FROM keys WHERE owner = ?');
const first = db.prepare('SELECT * FROM plants ORDER BY owner, id LIMIT ?');
const next = db.prepare('SELECT * FROM plants WHERE (owner, id) > (?, ?) ORDER BY owner, id LIMIT ?');
for (const query of [first, next]) {
  query.setReadBigInts(true);
  query.setReturnArrays(true);
}

/**
 * Applies all events: only a key's last event decides its row. Returns the first that was not allowed on the state
 * before it.
 */
function apply(cells: readonly Cell[]): { index: number; why: Misfit } | undefined {
  let misfit: { index: number; why: Misfit } | undefined;
  for (let at = 0; at < cells.length; at += EVENT_CELLS) {
    const [owner, id, name, tag] = [cells[at]!, cells[at + 1]!, cells[at + 2]!, cells[at + 3]!];
    const [key, time] = [cells[at + 4]!, cells[at + 5]!];
    if (id === null) {
      erasePlants.run(owner);
      eraseKeys.run(owner);
      continue;
    }
    const why = applyPlant(owner, id, name, tag) ?? (key === null ? undefined : applyKey(owner, key, time));
    if (why !== undefined) misfit ??= { index: at / EVENT_CELLS, why };
  }
  return misfit;
}

function applyPlant(owner: Cell, id: Cell, name: Cell, tag: Cell): Misfit | undefined {
  if (name === null) return remove.run(owner, id).changes === 0 ? 'missing' : undefined;
  if (add.run(owner, id, name, tag).changes === 1) return undefined;
  put.run(owner, id, name, tag);
  return 'there';
}

const applyKey = (owner: Cell, key: Cell, time: Cell): Misfit | undefined =>
  use.run(owner, key, time).changes === 0 ? 'key' : undefined;

function list(after: PlantKey | undefined): Cell[] {
  const rows = after === undefined ? first.all(LIST_ROWS) : next.all(after.owner, after.id, LIST_ROWS);
  return (rows as unknown as Cell[][]).flat();
}

function answer(request: FoldRequest): FoldReply {
  try {
    if (request.do === 'list') return { cells: list(request.after) };
    return { cells: [], misfit: apply(request.cells) };
  } catch (error) {
    return { error: error as Error };
  }
}

parentPort!.on('message', (request: FoldRequest) => parentPort!.postMessage(answer(request)));
