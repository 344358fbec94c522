import { execFileSync } from 'node:child_process';
import { copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { Fold } from '../../src/audit/fold/fold.ts';
import { repairReadModel } from '../../src/audit/repair.ts';
import { headAt } from '../../src/log/event/chain.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { EMPTY_HEAD } from '../../src/log/event/event.ts';
import { openLog } from '../../src/log/log.ts';
import { DATABASE_FILE, openSqlite } from '../../src/log/sqlite/store.ts';
import { RefusedAppendError } from '../../src/log/store.ts';
import { added, append, chain, project } from '../support/events.ts';
import { fold, readAnyLog, readLog, readModel } from '../support/fold.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { openSqliteStore } from './open-sqlite.ts';

/** Size beyond which the kernel lets this process write no file: a full disk that needs no privilege. */
const limitFiles = (bytes: number | 'unlimited') =>
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`]);

const plants = (from: number, length: number) =>
  Array.from({ length }, (_, index) => added('alice', BigInt(from + index), 'x'.repeat(1024)));

/** The log that a start would find if the process died now. */
async function afterCrash(directory: string): Promise<LoggedEvent[]> {
  const found = temporaryDirectory(onTestFinished);
  for (const name of [DATABASE_FILE, `${DATABASE_FILE}-wal`]) copyFileSync(join(directory, name), join(found, name));
  const store = openSqlite(found);
  try {
    return await readAnyLog(store);
  } finally {
    await store.close();
  }
}

test.skipIf(process.platform !== 'linux')(
  'when the disk is full writes reject with nothing done and reads go on; with space again so do writes',
  async () => {
    const opened = await openSqliteStore();
    const { store, directory } = opened;
    try {
      const log = await append(store, ...plants(0, 20));
      await project(store, 5);
      const batch = chain(headAt(log[19]!), plants(20, 100));
      const wal = statSync(join(directory, `${DATABASE_FILE}-wal`)).size;
      // No room at all, and room for some pages: a transaction fails at its first page, or at a later one.
      for (const room of [0, 4_200, 12_000]) {
        limitFiles(wal + room);
        await expect(store.append(batch)).rejects.toThrow(RefusedAppendError);
        await expect(project(store)).rejects.toThrow();
        expect(await readLog(store)).toEqual(log);
        expect(await readModel(store, 'alice')).toEqual({ rows: fold(log.slice(0, 5)).get('alice'), position: 5 });
        limitFiles('unlimited');
        expect(await afterCrash(directory)).toEqual(log);
      }
      expect(await store.append(batch)).toBe(100);
      expect(await project(store)).toBe(120);
      log.push(...batch);
      expect(await readLog(store)).toEqual(log);
      expect(await readModel(store, 'alice')).toEqual({ rows: fold(log).get('alice'), position: 120 });
      await store.close();
      const db = new DatabaseSync(join(directory, DATABASE_FILE));
      expect(db.prepare('PRAGMA integrity_check').all()).toMatchObject([{ integrity_check: 'ok' }]);
      db.close();
    } finally {
      limitFiles('unlimited');
      await opened.cleanup();
    }
  },
);

test.skipIf(process.platform !== 'linux')('when the disk is full an erasure is refused, and says why', async () => {
  const opened = await openSqliteStore();
  await append(opened.store, ...plants(0, 20));
  const log = await openLog(opened.store, { onFault: () => {} });
  try {
    limitFiles(statSync(join(opened.directory, `${DATABASE_FILE}-wal`)).size);
    const erased = (async () => {
      for await (const _ of log.erase({ owner: 'alice', actor: 'operator' }));
    })();
    await expect(erased).rejects.toMatchObject({
      reason: 'STORE_UNAVAILABLE',
      message: 'not applied: the disk of the store is full or broken; tell the operator, and try again later',
    });
  } finally {
    limitFiles('unlimited');
    await log.close();
    await opened.cleanup();
  }
});

test.skipIf(process.platform !== 'linux')('a repair on a full disk ends with the reason', async () => {
  const opened = await openSqliteStore();
  const { store, directory } = opened;
  try {
    await append(store, ...plants(0, 20));
    limitFiles(statSync(join(directory, `${DATABASE_FILE}-wal`)).size);
    const repaired = async () => {
      for await (const _ of repairReadModel(store));
    };
    await expect(repaired()).rejects.toThrow(/database or disk is full|disk I\/O error/);
    limitFiles('unlimited');
    await repaired();
    expect(await readModel(store, 'alice')).toMatchObject({ position: 20 });
  } finally {
    limitFiles('unlimited');
    await opened.cleanup();
  }
});

test.skipIf(process.platform !== 'linux')(
  'a fold that finds no room says that it is not the disk of the store',
  async () => {
    using folded = new Fold();
    const [event] = chain(EMPTY_HEAD, plants(0, 1));
    const rows = (from: number) =>
      plants(from, 2_000).map((plant) => ({ ...event!, event: { ...plant, tag: 'y'.repeat(1024) } }));
    // More than the 64 MiB that it keeps in memory.
    const large = async () => {
      for (let from = 0; from < 40_000; from += 2_000) await folded.apply(rows(from));
    };
    limitFiles(1_000_000);
    try {
      await expect(large()).rejects.toThrow(
        'the temporary file of an audit, in SQLITE_TMPDIR, TMPDIR, /var/tmp or /tmp, cannot be used, because its disk is full',
      );
    } finally {
      limitFiles('unlimited');
    }
  },
);
