import type { DatabaseSync } from 'node:sqlite';
import { LONGEST_LEASE } from '../store.ts';
import { prepareQuery } from './connection.ts';
import { EVENT_COLUMNS, KEY_COLUMNS } from './events.ts';
import { prepareChanges } from './read-model/changes.ts';
import { FIELD_COLUMNS, PLANT_COLUMNS } from './read-model/rows.ts';
import { PLANTS_CHECKPOINT } from './schema.ts';

/** The checkpoint of the read model, `upTo`, and the generation; see Rows. */
export const SELECT_CHECKPOINT = `SELECT position, max(position, ifnull(up_to, 0)), generation FROM checkpoints
  WHERE name = ${PLANTS_CHECKPOINT}`;

/** The last event: position, hash, bytes. */
export const SELECT_HEAD = 'SELECT position, hash, event FROM events ORDER BY position DESC LIMIT 1';

/** An owner's first plants above an id. */
export const SELECT_PLANTS = `SELECT ${PLANT_COLUMNS} FROM plants WHERE owner = ? AND id > ? ORDER BY id LIMIT ?`;

/** Appends one event, by its `valuesOf`. */
export const INSERT_EVENT = `INSERT INTO events (${EVENT_COLUMNS}, ${KEY_COLUMNS})
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Writes where the event of an idempotency key is: owner, key, position. */
export const INSERT_KEY = 'INSERT INTO idempotency_keys VALUES (?, ?, ?)';

/** KEY_COLUMNS. An idempotency key by which the event is not found has a value that no key has. */
const KEYS_IN_USE = `owner, plant_id, iif(idempotency_key IS NULL OR EXISTS (SELECT 1 FROM idempotency_keys AS found
  WHERE (found.owner, found.idempotency_key, found.position) = (events.owner, events.idempotency_key, events.position)),
  idempotency_key, x'')`;

/** Statements of the connection that appends and reads, except INSERT_EVENT and INSERT_KEY. */
export const prepareLog = (db: DatabaseSync) => ({
  head: prepareQuery(db, SELECT_HEAD),
  read: prepareQuery(
    db,
    `SELECT ${EVENT_COLUMNS} FROM events WHERE position > ? AND position <= ? ORDER BY position LIMIT ?`,
  ),
  readWithKeys: prepareQuery(
    db,
    `SELECT ${EVENT_COLUMNS}, ${KEYS_IN_USE} FROM events WHERE position > ? AND position <= ? ORDER BY position LIMIT ?`,
  ),
  search: prepareQuery(
    db,
    `SELECT ${EVENT_COLUMNS} FROM events WHERE position > ? AND position <= ?
     AND (owner = ifnull(?, owner) AND plant_id = ifnull(?, plant_id) OR ? AND owner IS NULL AND content IS NOT NULL)
     ORDER BY position LIMIT ?`,
  ),
  named: prepareQuery(
    db,
    `SELECT ${EVENT_COLUMNS} FROM idempotency_keys AS named CROSS JOIN events USING (owner, idempotency_key, position)
     WHERE named.owner = ?1 AND named.idempotency_key = ?2
     AND position > ifnull((SELECT max(position) FROM events WHERE erases_owner = ?1), 0) ORDER BY position DESC LIMIT 1`,
  ),
  // With the plus, SQLite uses the index of these events; for the order of the positions alone, it would read all events.
  unfinished: prepareQuery(db, `SELECT ${EVENT_COLUMNS} FROM events WHERE erases_owner IS NOT NULL ORDER BY +position`),
  checkpoint: prepareQuery(db, SELECT_CHECKPOINT),
  plant: prepareQuery(db, `SELECT ${FIELD_COLUMNS} FROM plants WHERE owner = ? AND id = ?`),
  plants: prepareQuery(db, SELECT_PLANTS),
  logId: prepareQuery(db, 'SELECT id FROM log'),
  nodeCount: prepareQuery(db, 'SELECT count(*) FROM tree'),
  nodes: prepareQuery(db, 'SELECT node, hash FROM tree WHERE node >= ? AND node < ? ORDER BY node'),
});

/** Statements of the projector's connection. */
export const prepareProjector = (db: DatabaseSync) => ({
  changes: prepareChanges(db),
  lease: db.prepare(`
    INSERT INTO leases (name, holder, until) VALUES (:name, :holder, :until)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE holder = excluded.holder OR until <= :now OR until > :now + ${LONGEST_LEASE}`),
});
