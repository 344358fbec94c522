// The home of a fold: a table in a temporary SQLite database. The thread of fold.ts.
import { DatabaseSync } from 'node:sqlite';
import { parentPort } from 'node:worker_threads';
import type { PlantKey } from '../domain/plant.ts';
import { CELLS, type Cell, type FoldReply, type FoldRequest, LIST_ROWS } from './fold-messages.ts';

/** Page cache in KiB. What does not fit goes to a file that SQLite makes without a name, so that it never outlives the process. */
const CACHE = 64 * 1024;

const db = new DatabaseSync('');
db.exec(`
  PRAGMA cache_size = -${CACHE}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
  CREATE TABLE plants (owner TEXT, id INTEGER, name TEXT, tag TEXT, PRIMARY KEY (owner, id)) STRICT, WITHOUT ROWID;
  BEGIN`);
const put = db.prepare('INSERT OR REPLACE INTO plants VALUES (?, ?, ?, ?)');
const remove = db.prepare('DELETE FROM plants WHERE owner = ? AND id = ?');
const first = db.prepare('SELECT * FROM plants ORDER BY owner, id LIMIT ?');
const next = db.prepare('SELECT * FROM plants WHERE (owner, id) > (?, ?) ORDER BY owner, id LIMIT ?');
for (const query of [first, next]) {
  query.setReadBigInts(true);
  query.setReturnArrays(true);
}

/** A key's last event alone decides its row. */
function apply(cells: readonly Cell[]): void {
  for (let at = 0; at < cells.length; at += CELLS) {
    const [owner, id, name, tag] = [cells[at]!, cells[at + 1]!, cells[at + 2]!, cells[at + 3]!];
    if (name === null) remove.run(owner, id);
    else put.run(owner, id, name, tag);
  }
}

function list(after: PlantKey | undefined): Cell[] {
  const rows = after === undefined ? first.all(LIST_ROWS) : next.all(after.owner, after.id, LIST_ROWS);
  return (rows as unknown as Cell[][]).flat();
}

function answer(request: FoldRequest): FoldReply {
  try {
    if (request.do === 'list') return { cells: list(request.after) };
    apply(request.cells);
    return { cells: [] };
  } catch (error) {
    return { error: error as Error };
  }
}

parentPort!.on('message', (request: FoldRequest) => parentPort!.postMessage(answer(request)));
