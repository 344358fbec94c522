import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CreatePlantRequestSchema } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { client } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { PROTOCOLS } from '../support/protocols.ts';
import { frame, rawSession, rawStream } from '../support/raw-grpc.ts';

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

test('where nothing may wait, whoever comes alone is served', async () => {
  await using impatient = await startLocalService({ MAX_WAIT: '0' });
  const send = client(impatient.url, await impatient.token('alice'));
  const statuses = [];
  for (let request = 0; request < 8; request++) statuses.push((await send('GET', '/plants')).status);
  expect(statuses).toContain(200);
});

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
    const [asked] = await once(socket, 'data');
    expect(String(asked)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('{}');
    expect(await answer()).toMatch(/^HTTP\/1\.1 400 /);
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
    const stream = rawStream(session, { ':path': CREATE, authorization: `Bearer ${token}` });
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
