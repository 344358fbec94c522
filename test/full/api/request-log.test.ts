import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { createClient } from '@connectrpc/connect';
import { expect, test } from 'vitest';
import { AuditService } from '../../../gen/plantstore/v1/audit_service_pb.ts';
import { ErasureService } from '../../../gen/plantstore/v1/erasure_service_pb.ts';
import { HAS_MONGODB, newDatabase } from '../../store/open-mongo.ts';
import { grpcClient } from '../../support/grpc.ts';
import { client } from '../../support/http.ts';
import { Instances } from '../../support/instances.ts';
import { Issuer } from '../../support/issuer.ts';
import { startLocalService } from '../../support/local-service.ts';
import { PROTOCOLS, TRANSPORTS } from '../../support/protocols.ts';
import type { LogLine, RunningService } from '../../support/running-service.ts';
import { sendTraffic } from '../../support/traffic.ts';

const requestOf = (id: string) => (line: LogLine) => line.msg === 'request' && line.requestId === id;

/** The hash of an owner, with the key that a service has now. */
function hashOf(owner: string, { dataDirectory }: RunningService): string {
  using db = new DatabaseSync(join(dataDirectory, 'plantstore.sqlite'), { readOnly: true });
  const key = db.prepare('SELECT key FROM owner_key').get()!.key as Uint8Array;
  return createHmac('sha256', key).update(owner).digest('hex').slice(0, 16);
}

test('one line a request, alike over every protocol', async () => {
  await using service = await startLocalService();
  await sendTraffic(service, await service.token('alice'), { 'x-request-id': 'mine.1' });
  const isLast = ({ protocol, code }: LogLine) => protocol === 'grpc' && code === 'NOT_FOUND';
  await service.logged(isLast);
  const lines = service.logs.filter(requestOf('mine.1'));
  const told = ({ protocol, method, route, status, code, reason, why }: LogLine) =>
    [protocol, method, route, status, code, reason, why].filter(Boolean).join(' ');
  expect(lines.map(told)).toEqual([
    'rest POST /plants 200',
    'rest POST /plants 400 PLANT_ALREADY_EXISTS',
    'rest GET /plants 200',
    'rest DELETE /plants/{id} 204',
    'rest GET /plants 401 TOKEN_INVALID malformed',
    'rest GET unmatched 404 ROUTE_NOT_FOUND',
    'rest GET unmatched 400 MALFORMED_REQUEST',
    'connect POST /plantstore.v1.PlantStoreService/ListPlants OK',
    'connect POST /plantstore.v1.PlantStoreService/DeletePlant NOT_FOUND PLANT_NOT_FOUND',
    'connect POST /plantstore.v1.PlantStoreService/DeletePlant INVALID_ARGUMENT MALFORMED_REQUEST',
    'grpc_web POST /plantstore.v1.PlantStoreService/ListPlants OK',
    'grpc_web POST /plantstore.v1.PlantStoreService/DeletePlant NOT_FOUND PLANT_NOT_FOUND',
    'grpc POST /plantstore.v1.PlantStoreService/CreatePlant OK',
    'grpc POST /plantstore.v1.PlantStoreService/DeletePlant NOT_FOUND PLANT_NOT_FOUND',
  ]);
  const alice = hashOf('alice', service);
  for (const {
    level,
    time,
    msg,
    protocol,
    method,
    route,
    status,
    code,
    requestId,
    owner,
    bytes,
    milliseconds,
    reason: _reason,
    why: _why,
    ...rest
  } of lines) {
    expect([level, msg, requestId]).toEqual(['info', 'request', 'mine.1']);
    expect([time, protocol, method, route].every((value) => typeof value === 'string')).toBe(true);
    expect([typeof status, typeof code]).toEqual(
      protocol === 'rest' ? ['number', 'undefined'] : ['undefined', 'string'],
    );
    expect(owner).toBe(status === 401 || route === 'unmatched' ? undefined : alice);
    expect(bytes).toEqual(expect.any(Number));
    expect(milliseconds).toBeGreaterThan(0);
    expect(rest).toEqual({});
  }
});

test('bytes of pipelined requests are those of each answer', async () => {
  await using service = await startLocalService();
  const token = await service.token('alice');
  const { hostname, port } = new URL(service.url);
  const asking = (path: string, id: string, last = '') =>
    `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nX-Request-Id: ${id}\r\n${last}\r\n`;
  const socket = connect(Number(port), hostname);
  const ids = ['one', 'two', 'three', 'four'];
  socket.write(ids.map((id, at) => asking(at % 2 === 0 ? '/plants' : '/nowhere', id)).join(''));
  socket.write(asking('/console', 'last', 'Connection: close\r\n'));
  const answers = (await text(socket)).split(/(?=HTTP\/1\.1 )/);
  expect(answers).toHaveLength(5);
  const lines = await Promise.all([...ids, 'last'].map((id) => service.logged(requestOf(id))));
  expect(lines.map(({ bytes }) => bytes)).toEqual(answers.map((answer) => Buffer.byteLength(answer)));
});

test('why a token was refused is in the line, alike over every protocol; the caller gets the reason alone', async () => {
  await using issuer = await Issuer.start();
  await using service = await startLocalService({
    JWKS_URL: issuer.jwksUrl.href,
    JWT_ISSUER: issuer.issuer,
    JWT_AUDIENCE: issuer.audience,
  });
  const expired = issuer.token({ claims: { exp: 1 } });
  for (const { name, client } of PROTOCOLS)
    await expect(client(service, `Bearer ${expired}`, { 'x-request-id': 'expired' }).list(), name).rejects.toThrow();
  const reader = issuer.token({ claims: { scope: 'plants:read' } });
  for (const { name, open } of TRANSPORTS)
    await expect(
      createClient(AuditService, open(service)).getHead(
        {},
        { headers: { authorization: `Bearer ${reader}`, 'x-request-id': 'scope' } },
      ),
      name,
    ).rejects.toThrow();
  const whyOf = (id: string) => () => service.logs.filter(requestOf(id)).map(({ reason, why }) => `${reason} ${why}`);
  await expect.poll(whyOf('expired'), { timeout: 30_000 }).toEqual(PROTOCOLS.map(() => 'TOKEN_INVALID expired'));
  // Whose token it was, as a hash; all of these are one subject's.
  const subjects = new Set(service.logs.filter(requestOf('expired')).map(({ subject }) => subject));
  expect([...subjects]).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/)]);
  await expect
    .poll(whyOf('scope'), { timeout: 30_000 })
    .toEqual(TRANSPORTS.map(() => 'INSUFFICIENT_SCOPE insufficient_scope'));
});

test('a request that its client gave up is told as such', async () => {
  await using service = await startLocalService();
  const token = await service.token('alice');
  const leaving = request(`${service.url}/plants`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': 50,
      expect: '100-continue',
      'x-request-id': 'left',
    },
  });
  leaving.on('error', () => {});
  leaving.flushHeaders();
  await once(leaving, 'continue');
  leaving.destroy();
  expect(await service.logged(requestOf('left'))).toMatchObject({ status: 499, route: '/plants' });
});

test.runIf(HAS_MONGODB)('all instances name an owner alike, also after an erasure at one of them', async () => {
  await using instances = await Instances.start(2, { MONGODB_URI: newDatabase() });
  await instances.settled('alice');
  const headers = { authorization: `Bearer ${await instances.token('bob')}` };
  let ids = 0;
  const named = (service: RunningService) => async () => {
    const id = `asked.${ids++}`;
    await (await fetch(`${service.url}/plants`, { headers: { ...headers, 'x-request-id': id } })).text();
    return (await service.logged(requestOf(id))).owner;
  };
  const [one, other] = instances.services.map(named) as [() => Promise<unknown>, () => Promise<unknown>];
  const before = await one();
  expect([before, await other()]).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/), before]);
  const operator = { headers: { authorization: `Bearer ${await instances.services[0]!.token('op', 'plants:erase')}` } };
  const erasures = createClient(ErasureService, TRANSPORTS[0]!.open(instances.services[0]!));
  for await (const _ of erasures.eraseOwner({ owner: 'alice' }, operator));
  const isOneNewName = async () => {
    const [here, there] = [await one(), await other()];
    return typeof here === 'string' && here !== before && here === there;
  };
  await expect.poll(isOneNewName).toBe(true);
});

test('no trace of an owner where that is wanted', async () => {
  await using service = await startLocalService({ LOG_OWNER: 'off' });
  const headers = { authorization: `Bearer ${await service.token('alice')}`, 'x-request-id': 'list' };
  await (await fetch(`${service.url}/plants`, { headers })).text();
  const line = await service.logged(requestOf('list'));
  expect(line).not.toHaveProperty('owner');
  expect(JSON.stringify(service.logs)).not.toContain('alice');
});

test('whoever has no token cannot fill the log: the first of each kind have lines, all are counted', async () => {
  // On a busy machine all of them may wait for a while.
  await using service = await startLocalService({ MAX_WAIT: '60000' });
  const [alice, nobody] = [client(service.url, await service.token('alice')), client(service.url)];
  const times = <T>(count: number, call: () => Promise<T>) => Promise.all(Array.from({ length: count }, call));
  const grpc = grpcClient(service.grpcUrl);
  const bytes = () => Buffer.alloc(0);
  await times(150, () => nobody('GET', '/plants'));
  await times(150, () => nobody('GET', '/nowhere'));
  await times(150, () => nobody('GET', '/openapi.json'));
  await times(150, () => new Promise((done) => grpc.makeUnaryRequest('/nowhere/AtAll', bytes, bytes, {}, done)));
  grpc.close();
  await times(150, () => alice('DELETE', '/plants/1'));
  await alice('GET', '/plants', { headers: { 'x-request-id': 'last' } });
  await service.logged(requestOf('last'));
  const counts = new Map<string, number>();
  for (const { msg, route, status, code } of service.logs) {
    const kind = msg === 'request' ? `${route} ${status ?? code}` : String(msg);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  expect(counts.has('authentication')).toBe(false);
  expect(Object.fromEntries(counts)).toMatchObject({
    ...{ '/plants 401': 100, 'unmatched 404': 100, '/openapi.json 200': 100, 'unmatched UNIMPLEMENTED': 100 },
    ...{ '/plants/{id} 404': 150, '/plants 200': 1 },
  });
  const metrics = await service.metrics();
  const ended = (route: string, status: string) =>
    metrics
      .get('plantstore_request_duration_seconds')!
      .samples.find(({ name, labels }) => /_count$/.test(name) && labels.route === route && labels.status === status);
  for (const [route, status] of [
    ['/plants', '401'],
    ['unmatched', '404'],
    ['unmatched', 'UNIMPLEMENTED'],
  ] as const)
    expect(ended(route, status)?.value, `${route} ${status}`).toBe(150);
});
