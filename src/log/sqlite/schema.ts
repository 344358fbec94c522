import type { DatabaseSync } from 'node:sqlite';
import { transaction } from './connection.ts';

/** Version of the tables below, kept as SQLite's user_version; 0 is a database without tables. */
export const SCHEMA_VERSION = 5;

/** Indexes and triggers that a database of this version has. */
export const SCHEMA_OBJECTS = [
  'events_are_not_changed',
  'events_are_not_deleted',
  'events_by_idempotency_key',
] as const;

/** Rows of `checkpoints`: the one read model that there is. */
export const PLANTS_CHECKPOINT = 'plants';

/** The table of the live read model. */
export const PLANTS_TABLE = 'plants';

/** The statement that makes a table of plants. */
export function createPlants(table: string): string {
  return `CREATE TABLE ${table} (
    owner TEXT NOT NULL,
    id    INTEGER NOT NULL,
    name  TEXT NOT NULL,
    tag   TEXT,
    PRIMARY KEY (owner, id)
  ) STRICT, WITHOUT ROWID`;
}

/** What leads from each version to the next, from 0 on. A step that was released is never changed. */
const STEPS = [
  `CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    type     TEXT NOT NULL CHECK (type IN ('PlantAdded', 'PlantDeleted')),
    owner    TEXT NOT NULL,
    actor    TEXT NOT NULL,
    plant_id INTEGER NOT NULL,
    name     TEXT,
    tag      TEXT,
    time     INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    hash     BLOB NOT NULL
  ) STRICT;

  CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are immutable'); END;
  CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are immutable'); END;

  ${createPlants(PLANTS_TABLE)};

  CREATE TABLE checkpoints (name TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO checkpoints VALUES ('${PLANTS_CHECKPOINT}', 0);

  CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until INTEGER NOT NULL) STRICT, WITHOUT ROWID`,

  // The position, which is the rowid, is in every index as its last column.
  `ALTER TABLE events ADD COLUMN idempotency_key TEXT;
  CREATE INDEX events_by_idempotency_key ON events (owner, idempotency_key) WHERE idempotency_key IS NOT NULL`,

  'ALTER TABLE events ADD COLUMN traceparent TEXT',

  'ALTER TABLE checkpoints ADD COLUMN generation INTEGER NOT NULL DEFAULT 0',

  `CREATE TABLE tree (
    level INTEGER NOT NULL,
    node  INTEGER NOT NULL,
    hash  BLOB NOT NULL,
    PRIMARY KEY (level, node)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE log (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  INSERT INTO log VALUES (lower(hex(randomblob(16))))`,
];

/** Makes, for a connection that only reads, empty tables that releases before the tree lack. */
const WITHOUT_TREE = 'CREATE TEMP TABLE tree (level, node, hash); CREATE TEMP TABLE log (id)';

/** Columns of `events` that a release of each version lacks, as its events have them. */
const LACKING = ['', 'NULL AS idempotency_key, NULL AS traceparent', 'NULL AS traceparent', ''];

/** The first version whose tables have the tree. */
const TREE_VERSION = 5;

/** Makes the tables in a database that has none, and brings those of an older release up to date. */
export function ensureSchema(db: DatabaseSync): void {
  transaction(db, () => {
    const version = versionOf(db);
    if (version >= SCHEMA_VERSION) return;
    for (const step of STEPS.slice(version)) db.exec(step);
    db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
  });
}

/** Shows the tables of an older release, on this connection alone, as the present release has them. */
export function readOlderSchema(db: DatabaseSync): void {
  const version = versionOf(db);
  const lacking = LACKING[version];
  if (version < TREE_VERSION) db.exec(WITHOUT_TREE);
  if (lacking) db.exec(`CREATE TEMP VIEW events AS SELECT *, ${lacking} FROM main.events`);
  if (version > 0 && version < 4)
    db.exec('CREATE TEMP VIEW checkpoints AS SELECT *, 0 AS generation FROM main.checkpoints');
}

/** Throws, with the reason, unless the database has tables that this release works with. */
export function checkSchema(db: DatabaseSync, path: string): void {
  const version = versionOf(db);
  if (version > SCHEMA_VERSION)
    throw new Error(`${path} has schema ${version}, which a newer release wrote; this release knows ${SCHEMA_VERSION}`);
  if (version === 0) throw new Error(`${path} holds no plant store`);
}

/** Version of the schema that a database has. */
export const versionOf = (db: DatabaseSync): number => Number(db.prepare('PRAGMA user_version').get()!.user_version);
