import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { Admission } from '../../src/transport/admission/admission.ts';
import { createHttpServer } from '../../src/transport/http/server.ts';

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
