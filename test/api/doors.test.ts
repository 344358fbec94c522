import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientReadableStream, ServiceError } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuditService } from '../../gen/plantstore/v1/audit_service_pb.ts';
import { bearer, grpcClient, richStatus, unary } from '../support/grpc.ts';
import { client, expectError } from '../support/http.ts';
import { parseMetrics } from '../support/prometheus.ts';
import { CallError, PROTOCOLS } from '../support/protocols.ts';
import { rawSession } from '../support/raw-grpc.ts';
import { type Service, startService } from '../support/service.ts';

const CREATE = '/plantstore.v1.PlantStoreService/CreatePlant';

let service: Service;
let token: string;
beforeAll(async () => {
  service = await startService();
  token = await service.token('alice');
});
afterAll(() => service.stop());

/** A connection on which bytes were sent, and all that comes back on it until it closes. */
function open(bytes: string) {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname).on('error', () => {});
  socket.write(bytes);
  return { socket, answer: () => text(socket) };
}

/** Adds the plant whose event shows that a follower is served. */
async function addPlant(to: Service): Promise<void> {
  const token = await to.token('gardener');
  const body = '{"id":1,"name":"Fern"}';
  expect((await client(to.url, token)('POST', '/plants', { body })).status).toBe(200);
}

/** Follows the log. Resolves once it holds its place: of several at once, some would be refused. */
async function follow(audit: ReturnType<typeof grpcClient>, as: string): Promise<ClientReadableStream<unknown>> {
  const call: ClientReadableStream<unknown> = audit.readEvents!({ follow: true }, bearer(as));
  await once(call, 'data');
  return call.on('error', () => {}).resume();
}

test.each(['HTTP/1.1', 'HTTP/1.0'])(
  'two Host headers are 400, whatever they say (RFC 9112, 3.2): %s',
  async (version) => {
    for (const second of ['plants', 'others']) {
      const hosts = `Host: plants\r\nhost: ${second}\r\nConnection: close\r\n`;
      const { answer } = open(`GET /plants ${version}\r\n${hosts}Authorization: Bearer ${token}\r\n\r\n`);
      expect(await answer()).toMatch(/^HTTP\/1\.1 400 .*\{"error":3,"message":"[^"]*Host[^"]*"\}$/s);
    }
  },
);

// Concurrent, since closing a connection that sends no more takes seconds.
describe.concurrent.each([
  ['REST', '/plants'],
  ['Connect', CREATE],
])('%s', (_, path) => {
  const head = (more: string) =>
    `POST ${path} HTTP/1.1\r\nHost: plants\r\nContent-Type: application/json\r\n${more}\r\n`;

  test('asks for a body only of who is let in', async () => {
    const expecting = 'Content-Length: 2\r\nExpect: 100-continue\r\n';
    const stranger = open(head(expecting));
    const [refusal] = await once(stranger.socket, 'data');
    expect(String(refusal)).toMatch(/^HTTP\/1\.1 401 /);
    stranger.socket.destroy();
    const { socket, answer } = open(head(`${expecting}Connection: close\r\nAuthorization: Bearer ${token}\r\n`));
    await sleep(50);
    socket.write('{}');
    expect(await answer()).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 400 /);
  });

  test('closes the connection of who is answered and does not send the rest', async () => {
    const { answer } = open(head('Content-Length: 100\r\n'));
    expect(await answer()).toMatch(/^HTTP\/1\.1 401 /);
  });

  test('says so at the headers when a body is too large', async () => {
    const { socket } = open(head(`Content-Length: 65537\r\nAuthorization: Bearer ${token}\r\n`));
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toMatch(path === CREATE ? /^HTTP\/1\.1 429 .*resource_exhausted/s : /^HTTP\/1\.1 413 /);
    socket.destroy();
  });
});

test("half a request beyond an owner's share of them is refused while others want the places, and the rest come to their end", async () => {
  await using small = await startService({ MAX_IN_FLIGHT: '8' });
  const token = await small.token('mallory');
  await addPlant(small);
  const audit = grpcClient(small.grpcUrl, { desc: AuditService });
  // More than half of the places are held.
  const held: ClientReadableStream<unknown>[] = [];
  for (const owner of ['bob', 'bob', 'carol', 'carol', 'dave'])
    held.push(await follow(audit, await small.token(owner, 'plants:audit')));
  const { hostname, port } = new URL(small.url);
  const begin = (path: string, id: number) => {
    const body = `{"${path === CREATE ? 'plant":{"' : ''}id":${id},"name":"Fern"}${path === CREATE ? '}' : ''}`;
    const socket = connect(Number(port), hostname).on('error', () => {});
    const head = `Host: plants\r\nContent-Type: application/json\r\nAuthorization: Bearer ${token}`;
    socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\nContent-Length: ${body.length}\r\n\r\n{`);
    const answer = once(socket, 'data').then(String);
    return { answer, end: () => socket.write(body.slice(1)), socket };
  };
  for (const [index, path] of ['/plants', CREATE].entries()) {
    const first = begin(path, index);
    while ((await gauge('plantstore_requests_arriving')) === 0) await sleep(10);
    for (const other of ['/plants', CREATE]) {
      const { answer, socket } = begin(other, 7);
      expect(await answer).toMatch(other === CREATE ? /^HTTP\/1\.1 429 .*TOO_MANY_REQUESTS/s : /^HTTP\/1\.1 429 /);
      socket.destroy();
    }
    const session = rawSession(small.grpcUrl);
    const stream = session.request({
      ':method': 'POST',
      ':path': CREATE,
      'content-type': 'application/grpc',
      te: 'trailers',
      authorization: `Bearer ${token}`,
    });
    const [headers] = await once(stream, 'response');
    expect(headers['grpc-status']).toBe('8');
    session.destroy();
    first.end();
    expect(await first.answer).toMatch(/^HTTP\/1\.1 200 /);
    first.socket.destroy();
  }
  // The end of the service would wait for them.
  for (const call of held) call.cancel();
  audit.close();

  async function gauge(name: string): Promise<number> {
    const metrics = parseMetrics(await (await fetch(`${small.adminUrl}/metrics`)).text());
    return metrics.get(name)!.samples[0]!.value;
  }
});

test("one owner's requests beyond a quarter of the places get 429, on every protocol; others are served", async () => {
  await using small = await startService({ MAX_IN_FLIGHT: '8', MAX_WAIT: '100' });
  const mallory = await small.token('mallory', 'plants:audit plants:read');
  const audit = grpcClient(small.grpcUrl, { desc: AuditService });
  await addPlant(small);
  const held = [await follow(audit, mallory), await follow(audit, mallory)] as const;
  const refused = () => client(small.url, mallory)('GET', '/plants');
  const reply = await refused();
  expectError(reply, 429, 8);
  expect(reply.headers['retry-after']).toBe('1');
  for (const { name, client: openClient } of PROTOCOLS) {
    const error = await openClient(small, `Bearer ${mallory}`)
      .list()
      .catch((thrown) => thrown);
    expect(error, name).toBeInstanceOf(CallError);
    expect(error).toMatchObject({ code: 8, ...(name !== 'REST' && { reason: 'TOO_MANY_REQUESTS' }) });
  }
  const grpc = grpcClient(small.grpcUrl);
  const error = await unary(grpc, 'listPlants', {}, bearer(mallory)).catch((thrown: ServiceError) => thrown);
  expect(richStatus(error as ServiceError).details.map(({ typeUrl }) => typeUrl)).toContain(
    'type.googleapis.com/google.rpc.RetryInfo',
  );
  grpc.close();
  const bob = await small.token('bob');
  for (const { client: openClient } of PROTOCOLS)
    expect(await openClient(small, `Bearer ${bob}`).list()).toMatchObject({ plants: [] });
  held[0].cancel();
  while ((await refused()).status !== 200);
  // The end of the service would wait for it.
  held[1].cancel();
  audit.close();
});
