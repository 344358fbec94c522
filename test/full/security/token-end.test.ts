import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CallOptions, createClient } from '@connectrpc/connect';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AuditService } from '../../../gen/plantstore/v1/audit_service_pb.ts';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { CLOCK_TOLERANCE } from '../../../src/auth/verifier.ts';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { EventStreamReader } from '../../support/event-stream.ts';
import { fill } from '../../support/fill.ts';
import { Issuer } from '../../support/issuer.ts';
import { callErrorOf, TRANSPORTS } from '../../support/protocols.ts';
import { type Service, startService } from '../../support/service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Enough that no list of them fits into what sockets hold. */
const PLANTS = 6_000;
const NAME = '🌱'.repeat(1024);
/** Seconds that a token of these tests counts, at least; one more at most. */
const LIFE = 5;
/** The end of every stream whose token has expired. */
const EXPIRED = { code: 16, reason: 'TOKEN_INVALID', message: 'the token has expired; get a new one' };

const directory = temporaryDirectory(afterAll);
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

// That every stream of every service ends so, and with its key too, test/unit/token-streams.test.ts and
// test/unit/auth-validity.test.ts show.
test.concurrent.each(TRANSPORTS)('over $name a stream ends, read slowly or silent', async ({ open }) => {
  const options = bearer(soonOver());
  const audit = createClient(AuditService, open(service));
  const start = { case: 'afterPosition' as const, value: BigInt(PLANTS - 1) };
  const ends = [
    endOf(createClient(PlantStoreService, open(service)).streamPlants({}, options)),
    endOf(audit.readEvents({ follow: true }, options)),
    endOf(audit.readEvents({ start, follow: true }, options), async () => {}),
    endOf(
      createClient(PlantStoreService, open(service)).watchPlants({}, bearer({ ...soonOver(), sub: 'nobody' })),
      async () => {},
    ),
  ];
  expect(await Promise.all(ends)).toEqual(ends.map(() => ({ begun: true, ...EXPIRED })));
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
