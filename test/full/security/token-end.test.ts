import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CallOptions, createClient, type Transport } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuditService } from '../../../gen/plantstore/v1/audit_service_pb.ts';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { CLOCK_TOLERANCE } from '../../../src/auth/verifier.ts';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { EventStreamReader } from '../../support/event-stream.ts';
import { fill } from '../../support/fill.ts';
import { Issuer } from '../../support/issuer.ts';
import { callErrorOf, TRANSPORTS } from '../../support/protocols.ts';
import { type Service, startService } from '../../support/service.ts';

/** Enough that no list of them fits into what sockets hold. */
const PLANTS = 6_000;
const NAME = '🌱'.repeat(1024);
/** Seconds that a token of these tests counts, at least; one more at most. */
const LIFE = 5;
/** The end of every stream whose token has expired. */
const EXPIRED = { code: 16, reason: 'TOKEN_INVALID', message: 'the token has expired; get a new one' };

const directory = mkdtempSync(join(tmpdir(), 'plantstore-token-end-'));
let issuer: Issuer;
let service: Service;

beforeAll(async () => {
  const store = openSqlite(directory);
  await fill(store, PLANTS, 'alice', () => ({ name: NAME }));
  await store.close();
  issuer = await Issuer.start();
  service = await startService({
    DATA_DIR: directory,
    JWKS_URL: issuer.jwksUrl.href,
    JWT_ISSUER: issuer.issuer,
    JWT_AUDIENCE: issuer.audience,
    // A busy machine must not refuse the calls.
    MAX_WAIT: '5000',
  });
});

afterAll(async () => {
  await service.stop();
  await issuer.stop();
  rmSync(directory, { recursive: true });
});

/** Claims of a token that is soon over, leeway and all. */
const soonOver = () => ({ exp: Math.floor(Date.now() / 1000) - CLOCK_TOLERANCE + LIFE + 1, scope: 'plants:audit' });

const bearer = (claims: Record<string, unknown>, key = issuer.ed25519): CallOptions => ({
  headers: { authorization: `Bearer ${issuer.token({ claims, key })}` },
});

/** When the token is over for certain. */
const over = () => sleep((LIFE + 1.5) * 1_000);

/** How a stream fails whose first message is taken while its token counts, and the rest after a pause. */
async function endOf(messages: AsyncIterable<object>, pause = over): Promise<object> {
  let taken = 0;
  try {
    for await (const _ of messages) if (++taken === 1) await pause();
  } catch (thrown) {
    const { code, reason, message } = callErrorOf(thrown);
    return { begun: taken > 0, code, reason, message };
  }
  return { begun: taken > 0, whole: true };
}

test.concurrent('an event stream says that the token has ended, and closes', async () => {
  const headers = {
    authorization: `Bearer ${issuer.token({ claims: { ...soonOver(), sub: 'nobody' }, key: issuer.ed25519 })}`,
  };
  const stream = await EventStreamReader.open(service.url, { headers });
  const [ready, end, ...more] = await stream.take(3);
  expect(ready).toMatchObject({ type: 'ready' });
  expect(end).toEqual({
    type: 'end',
    data: JSON.stringify({ error: EXPIRED.code, message: EXPIRED.message }),
    lastEventId: ready!.lastEventId,
  });
  expect(more).toEqual([]);
});

describe.concurrent.each(TRANSPORTS)('$name', ({ open }) => {
  const audit = (transport: Transport = open(service)) => createClient(AuditService, transport);

  test('a stream that is read slowly ends when the token does', async () => {
    const options = bearer(soonOver());
    const ends = [
      createClient(PlantStoreService, open(service)).streamPlants({}, options),
      audit().readEvents({}, options),
      audit().readEvents({ follow: true }, options),
    ].map((messages) => endOf(messages));
    expect(await Promise.all(ends)).toEqual(ends.map(() => ({ begun: true, ...EXPIRED })));
  });

  test('a follower that nothing happens for is ended, and not at its next event', async () => {
    const start = { case: 'afterPosition' as const, value: BigInt(PLANTS - 1) };
    const messages = audit().readEvents({ start, follow: true }, bearer(soonOver()));
    expect(await endOf(messages, async () => {})).toEqual({ begun: true, ...EXPIRED });
  });

  test('a watch that nothing happens for is ended, and not at its next event', async () => {
    const plants = createClient(PlantStoreService, open(service));
    const messages = plants.watchPlants({}, bearer({ ...soonOver(), sub: 'nobody' }));
    expect(await endOf(messages, async () => {})).toEqual({ begun: true, ...EXPIRED });
  });
});

test.concurrent('a reading of the plants of all owners ends when the token does', async () => {
  // Of calls that go through the whole log there are two at once, and one that was ended has its place until its reading stops.
  const pair = TRANSPORTS.filter(({ name }) => name === 'gRPC' || name === 'Connect JSON');
  const ends = pair.map(({ open }) =>
    endOf(createClient(AuditService, open(service)).listPlantsAsOf({}, bearer(soonOver()))),
  );
  // It may end before the first plant, which comes once the whole log was read.
  expect(await Promise.all(ends)).toEqual(ends.map(() => expect.objectContaining(EXPIRED)));
});

test.concurrent('a long REST list is broken off, and never ended as if it were whole', async () => {
  const { headers } = bearer(soonOver());
  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    request(`${service.url}/plants`, { headers: headers as Record<string, string>, agent: false }, resolve)
      .on('error', reject)
      .end();
  });
  expect(reply.statusCode).toBe(200);
  await over();
  await expect(text(reply)).rejects.toThrow('aborted');
  expect(reply.complete).toBe(false);
});

test.concurrent('a stream ends, on every protocol, when its token’s key is gone; others go on', async ({ expect }) => {
  const own = issuer.rotate({ keep: true });
  const start = { case: 'afterPosition' as const, value: BigInt(PLANTS - 1) };
  // A key that is not known yet is asked for once the last fetch is ten seconds old.
  const isKnown = async () => {
    const { status } = await fetch(`${service.url}/plants?limit=0`, {
      headers: { authorization: `Bearer ${issuer.token({ key: own })}` },
    });
    return status;
  };
  await expect.poll(isKnown, { timeout: 60_000, interval: 500 }).toBe(200);
  const leaving = new AbortController();
  const follow = (transport: Transport, options: CallOptions) =>
    createClient(AuditService, transport).readEvents({ start, follow: true }, options);
  let lasting = 0;
  const others = TRANSPORTS.map(async ({ open }) => {
    const options = { ...bearer({ scope: 'plants:audit' }), signal: leaving.signal };
    for await (const _ of follow(open(service), options)) lasting++;
  });
  let begun = 0;
  const ends = TRANSPORTS.map(async ({ open }) => {
    try {
      for await (const _ of follow(open(service), bearer({ scope: 'plants:audit' }, own))) begun++;
    } catch (thrown) {
      const { code, reason } = callErrorOf(thrown);
      return { code, reason };
    }
  });
  await expect.poll(() => lasting, { timeout: 30_000 }).toBe(TRANSPORTS.length);
  await expect.poll(() => begun, { timeout: 30_000 }).toBe(TRANSPORTS.length);
  issuer.keySet = issuer.keySet.filter(({ kid }) => kid !== own.kid);
  const fetchAgain = setInterval(() => {
    const headers = { authorization: `Bearer ${issuer.token({ header: { kid: 'unknown' } })}` };
    fetch(`${service.url}/plants`, { headers }).catch(() => {});
  }, 500);
  try {
    expect(await Promise.all(ends)).toEqual(ends.map(() => ({ code: 16, reason: 'TOKEN_INVALID' })));
  } finally {
    clearInterval(fetchAgain);
    leaving.abort();
  }
  for (const outcome of await Promise.allSettled(others))
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 1 } });
}, 120_000);
