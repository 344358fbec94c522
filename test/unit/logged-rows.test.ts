import { MongoServerError } from 'mongodb';
import { expect, test } from 'vitest';
import { explain } from '../../src/log/mongo/connection/errors.ts';
import { createLogger } from '../../src/observe/logger.ts';
import { sparing } from '../../src/observe/sparing.ts';

test('a command that the user of MongoDB may not run is logged without its documents, and once', () => {
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line: string) => void lines.push(line) });
  const refused = (txnNumber: number) => {
    const message = `not authorized on db to execute command { insert: "events", txnNumber: ${txnNumber}, documents: [ { owner: "malvolio", plantId: 7364821 } ] }`;
    return explain(new MongoServerError({ message, errmsg: message, code: 13, codeName: 'Unauthorized' }));
  };
  const write = sparing((fault) => logger.warn(fault, 'the store failed'));
  write(refused(1));
  write(refused(2));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('may not run insert on events');
  expect(lines[0]).not.toMatch(/volio|7364821/);
});

test('a duplicate key of MongoDB is logged without the owner that it names', () => {
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line: string) => void lines.push(line) });
  const id = { owner: 'mal"volio}', id: 7_364_821 };
  const errmsg = `E11000 duplicate key error collection: db.plants_0 index: _id_ dup key: { _id: ${JSON.stringify(id)} }`;
  const writeErrors = [{ index: 0, code: 11_000, errmsg, op: { _id: id } }];
  const err = new MongoServerError({ message: errmsg, errmsg, code: 11_000, keyValue: { _id: id }, writeErrors });
  logger.warn({ err }, 'the store failed');
  logger.warn({ err: new Error('a step failed', { cause: err }) }, 'the store failed');
  for (const line of lines) {
    expect(JSON.parse(line)).toMatchObject({ msg: 'the store failed' });
    expect(line).toContain('E11000 duplicate key error collection: db.plants_0');
    expect(line).not.toMatch(/volio|7364821/);
  }
  expect(lines).toHaveLength(2);
});
