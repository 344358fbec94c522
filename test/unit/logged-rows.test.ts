import { MongoServerError } from 'mongodb';
import { expect, test } from 'vitest';
import { createLogger } from '../../src/observe/logger.ts';

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
