import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { Admission } from '../../src/transport/admission/admission.ts';
import { createHttpServer } from '../../src/transport/http/server.ts';
import { HttpApp } from '../support/http-app.ts';

test('a connection that never sends anything does not hold up the end', async () => {
  const admission = new Admission({ maxInFlight: 8, maxWait: 60_000, requestMemory: 1_000_000 }, () => {});
  const limits = { maxConnections: 1_000, requestTimeout: 60, idleTimeout: 60 };
  const app = createHttpServer(pino({ level: 'silent' }), limits, { admission });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  await once(app.server, 'connection');
  const closed = once(socket, 'close');
  // Its time limit for headers is 20 s.
  await app.close();
  await closed;
  expect(socket.bytesRead).toBe(0);
}, 10_000);

test('an answer that its client reads slowly is whole, although the service stops meanwhile', async () => {
  // More than the kernel takes of it.
  const plants = Array.from({ length: 1_000 }, (_, index) => ({ name: `${index} `.padEnd(20_000, 'x') }));
  await using app = await HttpApp.rest({ listPlants: async () => ({ plants, nextCursor: '' }) });
  const [response] = await once(get(`${app.url}/plants`, { agent: false }), 'response');
  const closed = app.close();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(JSON.parse(await text(response))).toHaveLength(1_000);
  await closed;
}, 10_000);

test('a request that comes on an open connection as the service stops is answered', async () => {
  await using app = await HttpApp.rest({ listPlants: async () => ({ plants: [], nextCursor: '' }) });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const list = async () => {
    const [response] = await once(get(`${app.url}/plants`, { agent }), 'response');
    return text(response);
  };
  await list();
  const closed = app.close();
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(await list()).toBe('[]');
  await closed;
  agent.destroy();
}, 10_000);
