import { DatabaseSync } from 'node:sqlite';
import { PLANT_FIELDS } from '../../domain/plant.ts';
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
  /** The statement that creates the table under a name. */
  readonly create: (name: string) => string;
  readonly key: readonly string[];
}

/** The read model. */
export const PLANTS: KeyedTable = {
  name: 'plants',
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
  create: (name) => `CREATE TABLE ${name} (
    owner           TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    position        INTEGER NOT NULL,
    PRIMARY KEY (owner, idempotency_key, position)
  ) STRICT, WITHOUT ROWID`,
  key: ['owner', 'idempotency_key', 'position'],
};

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
  CREATE INDEX events_that_erase ON events (erases_owner) WHERE erases_owner IS NOT NULL;

  -- An event loses its content, or an OwnerErased whom it erases. Nothing else changes.
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
  CREATE TABLE log (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID`;

const ROWS = `
  INSERT INTO checkpoints VALUES (${PLANTS_CHECKPOINT}, 0, 0, NULL);
  INSERT INTO log VALUES (lower(hex(randomblob(16))))`;

/**
 * Tables beside the log, which releases that do not know them leave alone. So they need no new version. `uncleared` has
 * a row while the write-ahead log may hold what was erased.
 */
const BESIDE = `
  CREATE TABLE IF NOT EXISTS owner_key (key BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS uncleared (row INTEGER PRIMARY KEY) STRICT`;

/** Creates the tables in a database that has none. */
export function ensureSchema(db: DatabaseSync): void {
  transaction(db, () => {
    if (versionOf(db) === 0) {
      db.exec(`${TABLES}; ${ROWS}`);
      db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    }
    if (versionOf(db) === SCHEMA_VERSION) db.exec(BESIDE);
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
 * Throws if somebody dropped or changed what this version needs beside its events.
 * Without its triggers, nothing in the database keeps events from being changed or removed, so whoever writes refuses.
 * Whoever reads does not: an operator has to verify such a log, and to move it.
 */
export function checkObjects(db: DatabaseSync, path: string): void {
  const amiss = amissIn(db);
  if (amiss.length > 0)
    throw new Error(
      `${path} lacks ${namesOf(amiss)}, which somebody dropped or changed: run plantstore audit verify; then restore a backup, or plantstore audit export the log, and audit import it into an empty DATA_DIR`,
    );
}

/** Puts an empty table, for this connection, where one was dropped: so the log can be read, and verified. */
export function standInForDropped(db: DatabaseSync): void {
  for (const { sql } of amissIn(db).filter(isGoneTable)) db.exec(sql.replace('TABLE', 'TEMP TABLE'));
}

const STRAY_KEY = `SELECT position FROM idempotency_keys AS named WHERE NOT EXISTS (SELECT 1 FROM events
  WHERE (events.position, owner, idempotency_key) = (named.position, named.owner, named.idempotency_key))`;

/**
 * A table that somebody dropped, what has another definition, or a row beside the events that is of none of them.
 * Undefined: there is none. A column that no release has would be neither hashed nor erased.
 */
export function misfit(db: DatabaseSync): string | undefined {
  const amiss = amissIn(db);
  const gone = amiss.filter(isGoneTable);
  if (gone.length > 0) return `gone: ${namesOf(gone)}`;
  const changed = amiss.filter(({ isGone }) => !isGone);
  if (changed.length > 0) return `defined otherwise than by this release: ${namesOf(changed)}`;
  const stray = db.prepare(`${STRAY_KEY} LIMIT 1`).get();
  return stray && `a row of idempotency_keys names position ${stray.position}, whose event it does not fit`;
}

interface SchemaObject {
  readonly type: string;
  readonly name: string;
  readonly sql: string;
}

/** The objects of TABLES that a database lacks, or defines otherwise. */
function amissIn(db: DatabaseSync): (SchemaObject & { readonly isGone: boolean })[] {
  using whole = new DatabaseSync(':memory:');
  whole.exec(TABLES);
  // A view in the place of a table shows what somebody chose: the table is gone.
  const there = new Map(objectsIn(db).map(({ type, name, sql }) => [`${type} ${name}`, definitionOf(sql)]));
  return objectsIn(whole).flatMap((object) => {
    const found = there.get(`${object.type} ${object.name}`);
    return found === definitionOf(object.sql) ? [] : [{ ...object, isGone: found === undefined }];
  });
}

/** What a statement says. SQLite puts the name of a renamed table in quotes. */
const definitionOf = (sql: string): string => sql.replaceAll(/["\s]+/g, ' ').replace(' (', '(');

// SQLite makes indexes of its own, without a statement.
const objectsIn = (db: DatabaseSync): SchemaObject[] =>
  db.prepare('SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL').all() as unknown as SchemaObject[];

const isGoneTable = ({ type, isGone }: { readonly type: string; readonly isGone: boolean }): boolean =>
  isGone && type === 'table';

const namesOf = (objects: readonly SchemaObject[]): string => objects.map(({ name }) => name).join(', ');

/** The schema version of a database. */
export const versionOf = (db: DatabaseSync): number => Number(db.prepare('PRAGMA user_version').get()!.user_version);
