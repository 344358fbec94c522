import { expect, test } from 'vitest';
import { TRACEPARENT } from '../support/events.ts';
import { auditContract } from './audit.ts';
import { fillForTampering, tamperingContract, verdictOf } from './audit-tampering.ts';
import { openSqliteStore } from './open-sqlite.ts';
import { openSqliteDatabase } from './sqlite-database.ts';

const open = async () => {
  const opened = await openSqliteStore();
  return { ...opened, database: async () => openSqliteDatabase(opened.directory) };
};

auditContract('SQLite', open);
tamperingContract('SQLite', open);

test.each([
  ['an addition without a name', 'UPDATE events SET name = NULL WHERE position = 4'],
  ['a deletion with a name', "UPDATE events SET name = 'x' WHERE position = 8"],
  ['an idempotency key that is empty', "UPDATE events SET idempotency_key = '' WHERE position = 4"],
  ['a trace context that is empty', "UPDATE events SET traceparent = '' WHERE position = 4"],
  ['a trace context that is too long', `UPDATE events SET traceparent = '${TRACEPARENT}-' WHERE position = 4`],
  ['a deletion with a tag', "UPDATE events SET tag = '' WHERE position = 8"],
])('%s is no event: its place is named', async (_, sql) => {
  const opened = await open();
  await fillForTampering(opened.store);
  const { db, close } = await opened.database();
  db.exec(sql);
  await close();
  const position = Number(/\d+$/.exec(sql)![0]);
  const { verdict, places } = await verdictOf(opened.store);
  expect(verdict.ok).toBe(false);
  expect(places).toEqual({ positions: position, chain: position, read_model: position, tree: position });
  await opened.cleanup();
});
