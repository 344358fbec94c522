import { DatabaseSync } from 'node:sqlite';
import { PLANT_FIELDS } from '../../domain/plant.ts';
import type { Fault } from '../store.ts';
import { transaction } from './connection.ts';

/** Version of the tables below, stored as SQLite's user_version. 0: a database without tables. */
export const SCHEMA_VERSION = 6;

/** The version of 1.0.0, which upgrade.ts takes over. */
export const FORMER_VERSION = 5;

/** The name of the only read model in `checkpoints`, as a literal. */
export const PLANTS_CHECKPOINT = "'plants'";

/** A table whose rows come and go anywhere in the order of its key: see rewrite.ts. */
export interface KeyedTable {
  readonly name: string;
  /** The names of its copy, which is to take its place, and of the old table, which is then removed. */
  readonly copy: string;
  readonly former: string;
  /** The statement that creates the table under a name. */
  readonly create: (name: string) => string;
  readonly key: readonly string[];
}

/** The read model. */
export const PLANTS: KeyedTable = {
  name: 'plants',
  copy: 'plants_copy',
  former: 'plants_former',
  create: (name) => `CREATE TABLE ${name} (
    owner TEXT NOT NULL,
    id    INTEGER NOT NULL,
    ${PLANT_FIELDS.map((field) => `${field.name} TEXT${field.isRequired ? ' NOT NULL' : ''},`).join(' ')}
    PRIMARY KEY (owner, id)
  ) STRICT, WITHOUT ROWID`,
  key: ['owner', 'id'],
};

/**
 * Where the events of idempotency keys are. A table and no index of `events`, because only a table can be rewritten in
 * pieces.
 */
export const KEYS: KeyedTable = {
  name: 'idempotency_keys',
  copy: 'idempotency_keys_copy',
  former: 'idempotency_keys_former',
  create: (name) => `CREATE TABLE ${name} (
    owner           TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    position        INTEGER NOT NULL,
    PRIMARY KEY (owner, idempotency_key, position)
  ) STRICT, WITHOUT ROWID`,
  key: ['owner', 'idempotency_key', 'position'],
};

/** The copy of a table that rewrite.ts fills, with the triggers that repeat every change of the table in it. */
export const copyOf = ({ name, copy, create, key }: KeyedTable): string => `${create(copy)};
  CREATE TRIGGER ${copy}_insert AFTER INSERT ON ${name} BEGIN
    INSERT INTO ${copy} SELECT * FROM ${name} WHERE (${key}) = (${key.map((column) => `new.${column}`)});
  END;
  CREATE TRIGGER ${copy}_delete AFTER DELETE ON ${name} BEGIN
    DELETE FROM ${copy} WHERE (${key}) = (${key.map((column) => `old.${column}`)});
  END`;

/** Ends what the triggers do. */
export const dropTriggers = ({ copy }: KeyedTable): string =>
  `DROP TRIGGER IF EXISTS ${copy}_insert; DROP TRIGGER IF EXISTS ${copy}_delete`;

const TABLES = `
  CREATE TABLE events (
    position        INTEGER PRIMARY KEY,
    event           BLOB NOT NULL,
    hash            BLOB NOT NULL,
    content         BLOB,
    erased_by       INTEGER,
    owner           TEXT,
    plant_id        INTEGER,
    idempotency_key TEXT,
    erases_owner     TEXT,
    erases_key       BLOB,
    erases_cleared   INTEGER,
    erases_published INTEGER,
    CHECK ((content IS NULL) = (erased_by IS NOT NULL))
  ) STRICT;
  -- Of positions, not of names: copies of keys stay in the unused space of an index, and no index is written anew.
  CREATE INDEX events_that_erase ON events (position) WHERE erases_owner IS NOT NULL;

  -- An event loses its content, or an OwnerErased whom it erases. Nothing else changes, unless somebody means to: no
  -- trigger of a DELETE sees a REPLACE.
  CREATE TRIGGER events_are_only_erased BEFORE UPDATE ON events
    WHEN NOT (new.position = old.position AND new.event = old.event AND new.hash = old.hash AND (
      (old.erased_by IS NULL AND new.erased_by IS NOT NULL AND new.erased_by > old.position AND old.owner IS NOT NULL
        AND new.content IS NULL AND new.owner IS NULL AND new.plant_id IS NULL AND new.idempotency_key IS NULL
        AND old.erases_owner IS NULL AND new.erases_owner IS NULL)
      OR (old.erases_owner IS NOT NULL AND new.erased_by IS old.erased_by AND new.content IS old.content
        AND new.owner IS old.owner AND new.plant_id IS old.plant_id AND new.idempotency_key IS old.idempotency_key
        AND ((new.erases_owner = old.erases_owner AND new.erases_key = old.erases_key) OR (new.erases_owner IS NULL
          AND new.erases_key IS NULL AND new.erases_cleared IS NULL AND new.erases_published IS NULL)))))
    BEGIN SELECT RAISE(ABORT, 'events are immutable'); END;
  CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are immutable'); END;

  ${KEYS.create(KEYS.name)};
  ${PLANTS.create(PLANTS.name)};
  CREATE TABLE checkpoints (
    name       TEXT PRIMARY KEY,
    position   INTEGER NOT NULL,
    generation INTEGER NOT NULL DEFAULT 0,
    up_to      INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;

  -- The nodes of level 1 of the log's Merkle tree, counted from 0.
  CREATE TABLE tree (node INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT;
  CREATE TABLE log (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TABLE owner_key (key BLOB NOT NULL) STRICT;
  -- Has a row while the write-ahead log may hold what was erased.
  CREATE TABLE uncleared (row INTEGER PRIMARY KEY) STRICT`;

const ROWS = `
  INSERT INTO checkpoints VALUES (${PLANTS_CHECKPOINT}, 0, 0, NULL);
  INSERT INTO log VALUES (lower(hex(randomblob(16))))`;

/** Creates the tables in a database that has none. */
export function ensureSchema(db: DatabaseSync): void {
  transaction(db, () => {
    if (versionOf(db) === 0) db.exec(`${TABLES}; ${ROWS}; PRAGMA user_version = ${SCHEMA_VERSION}`);
  });
}

/** Throws, with the reason, unless the database has the tables of this release. */
export function checkSchema(db: DatabaseSync, path: string): void {
  const version = versionOf(db);
  if (version > SCHEMA_VERSION)
    throw new Error(`${path} has schema ${version}, which a newer release wrote; this release knows ${SCHEMA_VERSION}`);
  if (version === 0) throw new Error(`${path} contains no plant store`);
  if (version === FORMER_VERSION)
    throw new Error(
      `${path} has schema ${version}, that of release 1.0.0: start the service, or run plantstore upgrade, before this`,
    );
  if (version < SCHEMA_VERSION)
    throw new Error(`${path} has schema ${version}, from before the first release, which no release can read`);
}

/**
 * Throws if the database has another schema than this release makes. Without its triggers, nothing in the database
 * keeps events from being changed or removed, and a foreign one may change what is written: so whoever writes refuses.
 * Whoever reads does not: an operator has to verify such a log, and to move it.
 */
export function checkObjects(db: DatabaseSync, path: string): void {
  const fault = schemaFault(db);
  if (fault !== undefined)
    throw new Error(
      `${path} is not as this release makes it (${fault}): run plantstore audit verify; if a newer release has added to it, go on with that release, or audit export --format protobuf with it, and audit import here into an empty DATA_DIR; otherwise drop what is not of this release, and for the rest restore a backup, or audit export the log, and audit import it into an empty DATA_DIR`,
    );
}

/** Puts an empty table, for this connection, where one was dropped: so the log can be read, and verified. */
export function standInForDropped(db: DatabaseSync): void {
  const there = new Set(objectsIn(db).map(idOf));
  for (const object of ownObjects([]))
    if (object.type === 'table' && !there.has(idOf(object))) db.exec(object.sql.replace('TABLE', 'TEMP TABLE'));
}

const STRAY_KEY = `SELECT position FROM idempotency_keys AS named WHERE NOT EXISTS (SELECT 1 FROM events
  WHERE (events.position, owner, idempotency_key) = (named.position, named.owner, named.idempotency_key)) ORDER BY position LIMIT 1`;

/** What of a schema is not as this release makes it, or a row beside the events that is of none. Undefined: nothing. */
export function misfit(db: DatabaseSync): Fault | undefined {
  const fault = schemaFault(db);
  if (fault !== undefined) return { message: fault };
  const stray = db.prepare(STRAY_KEY).get();
  if (stray === undefined) return undefined;
  return {
    position: Number(stray.position),
    message: 'a row of idempotency_keys names this position, and does not fit its event',
  };
}

/**
 * Every table, index, trigger and view that is gone, is defined otherwise than by this release, or is not of it.
 * Undefined: there is none. A column or a table that no release has would be neither hashed nor erased.
 */
function schemaFault(db: DatabaseSync): string | undefined {
  const found = objectsIn(db);
  const own = new Map(ownObjects(found).map((object) => [idOf(object), object]));
  const there = new Set(found.map(idOf));
  const parts = Object.entries({
    gone: [...own.values()].filter((object) => !there.has(idOf(object))).map(({ name }) => name),
    'defined otherwise than by this release': found.filter((object) => differs(object, own)).map(({ name }) => name),
    'not of this release': found.map(idOf).filter((id) => !own.has(id)),
  }).filter(([, objects]) => objects.length > 0);
  return parts.length === 0 ? undefined : parts.map(([what, objects]) => `${what}: ${objects.join(', ')}`).join('; ');
}

interface SchemaObject {
  readonly type: string;
  readonly name: string;
  readonly sql: string;
}

/** A view in the place of a table shows what somebody chose, and is another object. */
const idOf = ({ type, name }: SchemaObject): string => `${type} ${name}`;

function differs(object: SchemaObject, own: ReadonlyMap<string, SchemaObject>): boolean {
  const made = own.get(idOf(object));
  return made !== undefined && definitionOf(made.sql) !== definitionOf(object.sql);
}

/**
 * The objects that this release makes in every database, and those of these objects that are copies of a table, which
 * `rewrite` has during an erasure, or after one that was cut short.
 */
function ownObjects(found: readonly SchemaObject[]): SchemaObject[] {
  using made = new DatabaseSync(':memory:');
  made.exec(TABLES);
  const there = new Set(found.map(idOf));
  for (const table of [KEYS, PLANTS]) {
    if (there.has(`table ${table.copy}`)) made.exec(copyOf(table));
    if (there.has(`table ${table.former}`)) made.exec(table.create(table.former));
  }
  return objectsIn(made);
}

/** What a statement says. SQLite puts the name of a renamed table in quotes. */
const definitionOf = (sql: string): string => sql.replaceAll(/["\s]+/g, ' ').replace(' (', '(');

// SQLite makes indexes of its own, without a statement.
const objectsIn = (db: DatabaseSync): SchemaObject[] =>
  db.prepare('SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL').all() as unknown as SchemaObject[];

/** The schema version of a database. 0: it has no schema. */
export const versionOf = (db: DatabaseSync): number => Number(db.prepare('PRAGMA user_version').get()!.user_version);
