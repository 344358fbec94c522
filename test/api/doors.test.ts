import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import type { ClientReadableStream, ServiceError } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuditService } from '../../gen/plantstore/v1/audit_service_pb.ts';
import { CreatePlantRequestSchema } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { bearer, grpcClient, richStatus, unary } from '../support/grpc.ts';
import { client, expectError } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { CallError, PROTOCOLS } from '../support/protocols.ts';
import { frame, rawSession } from '../support/raw-grpc.ts';

const CREATE = '/plantstore.v1.PlantStoreService/CreatePlant';

let service: LocalService;
let token: string;
beforeAll(async () => {
  service = await startLocalService();
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
async function addPlant(to: LocalService): Promise<void> {
  const token = await to.token('gardener');
  const body = '{"id":1,"name":"Fern"}';
  expect((await client(to.url, token)('POST', '/plants', { body })).status).toBe(200);
}

/** Follows the log. Resolves once it holds its permit: of several at once, some would be refused. */
async function follow(audit: ReturnType<typeof grpcClient>, as: string): Promise<ClientReadableStream<unknown>> {
  const call: ClientReadableStream<unknown> = audit.readEvents!({ follow: true }, bearer(as));
  await once(call, 'data');
  return call.on('error', () => {}).resume();
}

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

test("half a request holds no permit: its owner's other requests are served, and it comes to its end", async () => {
  // A quarter, for one owner, is one.
  await using small = await startLocalService({ MAX_IN_FLIGHT: '4', MAX_WAIT: '60000' });
  const token = await small.token('alice');
  const { hostname, port } = new URL(small.url);
  const session = rawSession(small.grpcUrl);
  const begin = (path: string, id: number) => {
    const plant = `{"id":${id},"name":"Fern"}`;
    const body = path === CREATE ? `{"plant":${plant}}` : plant;
    const socket = connect(Number(port), hostname).on('error', () => {});
    const head = `Host: plants\r\nContent-Type: application/json\r\nAuthorization: Bearer ${token}`;
    socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\nContent-Length: ${body.length}\r\n\r\n{`);
    const answer = once(socket, 'data').then(String);
    return async () => {
      socket.write(body.slice(1));
      expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
      socket.destroy();
    };
  };
  const beginCall = (id: number) => {
    const message = frame(
      toBinary(CreatePlantRequestSchema, create(CreatePlantRequestSchema, { plant: { id: BigInt(id), name: 'Fern' } })),
    );
    const stream = session.request({
      ':method': 'POST',
      ':path': CREATE,
      'content-type': 'application/grpc',
      te: 'trailers',
      authorization: `Bearer ${token}`,
    });
    stream.write(message.subarray(0, 8));
    return async () => {
      stream.end(message.subarray(8));
      const [trailers] = await once(stream.resume(), 'trailers');
      expect(trailers['grpc-status']).toBe('0');
    };
  };
  const ends = Array.from({ length: 5 }, (_, index) => [
    begin('/plants', 3 * index),
    begin(CREATE, 3 * index + 1),
    beginCall(3 * index + 2),
  ]).flat();
  // Of 10 connections and one session, beside that of the question.
  await expect.poll(() => small.metric('plantstore_requests_held_bytes')).toBeGreaterThan(11 * 4_096);
  for (const { client: openClient } of PROTOCOLS)
    expect(await openClient(small, `Bearer ${token}`).list()).toMatchObject({ plants: [] });
  await expect.poll(() => small.metric('plantstore_requests_in_flight')).toBe(0);
  for (const end of ends) await end();
  session.destroy();
});

test("one owner's requests beyond a quarter of the permits get 429, on every protocol; others are served", async () => {
  await using small = await startLocalService({ MAX_IN_FLIGHT: '8', MAX_WAIT: '1000' });
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
