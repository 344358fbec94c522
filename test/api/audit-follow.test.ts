import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AuditService } from '../../gen/plantstore/v1/audit_service_pb.ts';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import { readLog, verifyLog } from '../support/fold.ts';
import { TRANSPORTS } from '../support/protocols.ts';
import { type Service, startService } from '../support/service.ts';
import { count } from '../support/soak.ts';

const ADDS = count(10_000, 100_000);
const CLIENTS = 200;
const RESTARTS = count(2, 20);

const { open: openGrpc } = TRANSPORTS.find(({ name }) => name === 'gRPC')!;

const directory = mkdtempSync(join(tmpdir(), 'plantstore-follow-'));
let service: Service;
let transport: Transport;

/** Starts the service, again on the same data and other ports. */
async function start(): Promise<void> {
  service = await startService({ DATA_DIR: directory });
  transport = openGrpc(service);
}

beforeAll(start);

afterAll(async () => {
  await service.stop();
  rmSync(directory, { recursive: true });
});

/** Reads events from `after` on until the stream breaks or all are seen. */
async function follow(token: string, after: number, seen: number[]): Promise<void> {
  const start = { case: 'afterPosition' as const, value: BigInt(after) };
  const enough = new AbortController();
  const options = { headers: { authorization: `Bearer ${token}` }, signal: enough.signal };
  for await (const { events, position } of createClient(AuditService, transport).readEvents(
    { start, follow: true },
    options,
  )) {
    seen.push(...events.map((event) => Number(event.position)));
    expect(Number(position)).toBe(seen.at(-1));
    if (seen.at(-1)! >= ADDS) enough.abort();
  }
}

/** Adds plants one after the other, again where the service was gone: the log then holds it or it does not. */
async function addAll(ids: Iterator<number>, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  for (let next = ids.next(); !next.done; next = ids.next()) {
    const body = JSON.stringify({ id: next.value, name: `Plant ${next.value}` });
    for (;;) {
      const reply = await fetch(`${service.url}/plants`, { method: 'POST', headers, body })
        .then(async (response) => ({ status: response.status, ...((await response.json()) as { error?: number }) }))
        .catch(() => undefined);
      if (reply?.status === 200 || reply?.error === Code.AlreadyExists) break;
      expect([undefined, 503]).toContain(reply?.status);
      await sleep(20);
    }
  }
}

test('a follower that goes on where it broke sees every position once, in order, through restarts under load', async () => {
  const ids = Array.from({ length: ADDS }, (_, id) => id)[Symbol.iterator]();
  const token = await service.token('alice');
  const auditor = await service.token('auditor', 'plants:audit');
  const adders = Promise.all(Array.from({ length: CLIENTS }, () => addAll(ids, token)));
  const seen: number[] = [];
  const follower = (async () => {
    while (seen.length < ADDS) {
      await follow(auditor, seen.at(-1) ?? 0, seen).catch((thrown) => {
        if (!(thrown instanceof ConnectError)) throw thrown;
        return sleep(20);
      });
    }
  })();
  for (let restart = 1; restart <= RESTARTS; restart++) {
    while (seen.length < (ADDS * restart) / (RESTARTS + 1)) await sleep(5);
    const before = service;
    if (restart === 1) await before.stop();
    else await before.kill();
    await start();
  }
  await Promise.all([adders, follower]);
  expect(seen).toEqual(Array.from({ length: ADDS }, (_, index) => index + 1));
  const store = await openSqlite(directory, { readOnly: true });
  const events = await readLog(store);
  await store.close();
  verifyLog(events);
  expect(events).toHaveLength(ADDS);
}, 180_000);
