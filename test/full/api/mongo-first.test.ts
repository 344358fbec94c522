import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { HAS_MONGODB } from '../../store/open-mongo.ts';
import { freePort } from '../../support/free-port.ts';
import { client } from '../../support/http.ts';
import { Mongod } from '../../support/mongod.ts';
import { findMongod } from '../../support/mongod-binary.ts';
import type { LogLine } from '../../support/running-service.ts';
import { Service, startService } from '../../support/service.ts';

const PAGE = readFileSync('docs/mongodb.md', 'utf8');
const BEGIN = PAGE.split('\n## Begin\n')[1]!.split('\n## ')[0]!;
const [, replicaSet] = /--replSet (\w+)/.exec(BEGIN)!;
const [, settings] = /rs\.initiate\((\{.*\})\)/.exec(BEGIN)!;
const [, uri] = /MONGODB_URI='(.*)' npm start/.exec(BEGIN)!;

test.skipIf(!HAS_MONGODB)('the first steps of mongodb.md lead to a service that is ready', async () => {
  const mongod = await Mongod.start(await findMongod(), '--replSet', replicaSet!);
  const here = (text: string) => text.replaceAll('127.0.0.1:27017', mongod.address);
  try {
    // What mongosh evaluates is JavaScript; without its keys' names bare it is JSON.
    const config = JSON.parse(here(settings!).replaceAll(/([{,]) *(\w+):/g, '$1"$2":'));
    expect(await mongod.command({ replSetInitiate: config })).toMatchObject({ ok: 1 });
    await using service = await startService({ MONGODB_URI: here(uri!) });
    const send = client(service.url, await service.token('alice'));
    expect(await send('POST', '/plants', { body: '{"id":7,"name":"Fern"}' })).toMatchObject({ status: 200 });
  } finally {
    await mongod.remove();
  }
});

test('a service that was started before MongoDB says so, and says it again with how long it has waited', async () => {
  // Time runs 20 times as fast.
  const fast = 'const now = performance.now.bind(performance); performance.now = () => 20 * now();';
  const environment = {
    MONGODB_URI: `mongodb://127.0.0.1:${await freePort()}/plantstore?replicaSet=plantstore`,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(fast)}`,
  };
  await using service = new Service(environment);
  const waiting = ({ msg }: LogLine) => msg === 'waiting for the store';
  const first = await service.logged(waiting);
  expect(first).toMatchObject({ level: 'error', err: { message: expect.stringContaining('does not answer') } });
  const again = await service.logged((line) => waiting(line) && line !== first);
  expect(again).toMatchObject({ level: 'error', err: { message: expect.stringContaining('does not answer') } });
  expect(Number(again.waited) - Number(first.waited)).toBeGreaterThanOrEqual(30);
});
