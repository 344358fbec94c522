import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Code, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web';
import { credentials, makeClientConstructor, type ServiceError, status } from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { DATABASE_FILE } from '../../../src/log/sqlite/store.ts';
import { freePort } from '../../support/free-port.ts';
import { bearer, grpcClient, richStatus, unary } from '../../support/grpc.ts';
import { client, expectError } from '../../support/http.ts';
import { startLocalService } from '../../support/local-service.ts';
import { CallError, PROTOCOLS, TRANSPORTS } from '../../support/protocols.ts';
import type { RunningService } from '../../support/running-service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Transports of browsers, which fetch. */
const browserTransports = ({ url: baseUrl }: RunningService) => [
  createConnectTransport({ baseUrl }),
  createGrpcWebTransport({ baseUrl }),
];

/** Reads a stream to its end. */
async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _message of stream);
}

/** How many requests were refused, by protocol and reason. */
async function shedOf(service: RunningService): Promise<Map<string, number>> {
  const { samples } = (await service.metrics()).get('plantstore_requests_shed_total')!;
  return new Map(samples.map(({ labels: { protocol, reason }, value }) => [`${protocol} ${reason}`, value]));
}

/**
 * So many adds, each of an owner of its own, that are being served until they are disposed of: another process has the
 * database. They have to be over within ten seconds.
 */
async function hold(service: RunningService, adds: number): Promise<Disposable> {
  const inFlight = () => service.metric('plantstore_requests_in_flight');
  const tokens = await Promise.all(Array.from({ length: adds }, (_, number) => service.token(`holder ${number}`)));
  while ((await inFlight()) > 0) await sleep(10);
  const database = new DatabaseSync(join(service.dataDirectory, DATABASE_FILE));
  database.exec('BEGIN IMMEDIATE');
  for (const token of tokens) void client(service.url, token)('POST', '/plants', { body: '{"id":7,"name":"Fern"}' });
  while ((await inFlight()) < adds) await sleep(10);
  return { [Symbol.dispose]: () => database.close() };
}

describe('RATE_LIMIT', () => {
  test('one budget for all protocols, each with its own form of the error; other owners have theirs', async () => {
    await using service = await startLocalService({ RATE_LIMIT: '1', MAX_WAIT: '10000' });
    const [alice, bob] = [await service.token('alice'), await service.token('bob')];
    // More at once than the budget allows in the time that they take.
    const burst = PROTOCOLS.flatMap((protocol) =>
      Array.from({ length: 20 }, () =>
        protocol
          .client(service, `Bearer ${alice}`)
          .list(0)
          .catch((error) => error),
      ),
    );
    const outcomes = await Promise.all(burst);
    for (const [index, { name }] of PROTOCOLS.entries()) {
      const refused = outcomes.slice(index * 20, (index + 1) * 20).filter((outcome) => outcome instanceof CallError);
      expect(refused.length, name).toBeGreaterThan(0);
      for (const { code, reason, message } of refused)
        expect({ code, reason, message }).toEqual({
          code: 8,
          reason: 'RATE_LIMITED',
          message: expect.stringContaining('slow down'),
        });
    }
    expect(await PROTOCOLS[0]!.client(service, `Bearer ${bob}`).list()).toMatchObject({ plants: [] });

    const send = client(service.url, alice);
    const replies = await Promise.all(Array.from({ length: 20 }, () => send('GET', '/plants')));
    const refused = replies.find((reply) => reply.status !== 200)!;
    expectError(refused, 429, 8);
    expect(refused.headers['retry-after']).toBe('1');
    const grpc = grpcClient(service.grpcUrl);
    const calls = Array.from({ length: 20 }, () =>
      unary(grpc, 'listPlants', {}, bearer(alice)).catch((error) => error),
    );
    const error = (await Promise.all(calls)).find((outcome): outcome is ServiceError => outcome instanceof Error)!;
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(richStatus(error).details.map(({ typeUrl }) => typeUrl)).toContain(
      'type.googleapis.com/google.rpc.RetryInfo',
    );
    grpc.close();
    const limited = () => service.logs.filter(({ reason }) => reason === 'RATE_LIMITED');
    await expect.poll(() => new Set(limited().map(({ protocol }) => protocol)).size).toBe(4);
    for (const line of limited()) expect(line).toHaveProperty('owner');
  });
});

describe('MAX_IN_FLIGHT and MAX_WAIT', () => {
  test('beyond them every protocol refuses in its own form, and a bad token by itself; probes are served, and so is all afterwards', async () => {
    await using service = await startLocalService({ MAX_IN_FLIGHT: '2', MAX_WAIT: '100' });
    const token = await service.token('alice');
    const held = await hold(service, 2);
    // On a busy machine also those are refused now and then that are held in the end.
    const before = await shedOf(service);
    for (const { name, client: open } of PROTOCOLS) {
      await expect(open(service, `Bearer ${token}`).list(), name).rejects.toMatchObject({
        code: 14,
        message: expect.stringContaining('the service is busy'),
        reason: 'OVERLOADED',
      });
      for (const authorization of ['Bearer of-nothing', undefined])
        await expect(open(service, authorization).list(), name).rejects.toMatchObject({ code: 16 });
    }
    const options = { headers: { authorization: `Bearer ${token}` } };
    for (const transport of browserTransports(service))
      await expect(createClient(PlantStoreService, transport).listPlants({}, options)).rejects.toMatchObject({
        code: Code.Unavailable,
        rawMessage: expect.stringContaining('the service is busy'),
      });
    for (const transport of [...TRANSPORTS.map(({ open }) => open(service)), ...browserTransports(service)])
      await expect(drain(createClient(PlantStoreService, transport).streamPlants({}, options))).rejects.toMatchObject({
        code: Code.Unavailable,
      });
    const refused = await client(service.url, token)('GET', '/plants');
    expectError(refused, 503, 14);
    expect(refused.headers['retry-after']).toBe('1');
    expect((await fetch(`${service.adminUrl}/readyz`)).status).toBe(200);
    const health = new (makeClientConstructor(healthService, 'health'))(service.grpcUrl, credentials.createInsecure());
    expect(await unary(health, 'check', {})).toEqual({ status: 'SERVING' });
    health.close();
    const shed = [...(await shedOf(service))].map(([why, times]) => [why, times - (before.get(why) ?? 0)] as const);
    expect(Object.fromEntries(shed.filter(([, times]) => times > 0))).toEqual({
      'rest in_flight': 2,
      'connect in_flight': 6,
      'grpc_web in_flight': 4,
      'grpc in_flight': 2,
    });

    held[Symbol.dispose]();
    while ((await client(service.url, token)('GET', '/plants')).status !== 200);
    for (const { client: open } of PROTOCOLS)
      expect(await open(service, `Bearer ${token}`).list()).toMatchObject({ plants: [] });
  });

  test('a request whose client goes away while it waits takes no permit', async () => {
    await using service = await startLocalService({ MAX_IN_FLIGHT: '1', MAX_WAIT: '60000' });
    const token = await service.token('alice');
    const held = await hold(service, 1);
    const leaving = new AbortController();
    const options = { headers: { authorization: `Bearer ${token}` }, signal: leaving.signal };
    const gone = [...TRANSPORTS.map(({ open }) => open(service)), ...browserTransports(service)].map((transport) =>
      createClient(PlantStoreService, transport).listPlants({}, options),
    );
    const waiting = () => service.metric('plantstore_requests_waiting');
    await expect.poll(waiting).toBe(gone.length);
    leaving.abort();
    for (const outcome of await Promise.allSettled(gone)) expect(outcome.status).toBe('rejected');
    held[Symbol.dispose]();
    for (const { client: open } of PROTOCOLS)
      expect(await open(service, `Bearer ${token}`).list()).toMatchObject({ plants: [] });
  });
});

describe('MAX_CONNECTIONS', () => {
  test.each(['REST', 'gRPC'])(
    'strangers who have them all keep nobody else out, and the log says so: %s',
    async (name) => {
      await using service = await startLocalService({ MAX_CONNECTIONS: '8' });
      const { hostname, port } = new URL(name === 'REST' ? service.url : `tcp://${service.grpcUrl}`);
      const mute = Array.from({ length: 8 }, () =>
        connect(Number(port), hostname)
          .on('error', () => {})
          .resume(),
      );
      await Promise.all(mute.map((socket) => once(socket, 'connect')));
      const closed = Promise.race(mute.map((socket) => once(socket, 'close')));
      const { client: openClient } = PROTOCOLS.find((protocol) => protocol.name === name)!;
      const token = await service.token('alice');
      expect(await openClient(service, `Bearer ${token}`).list()).toMatchObject({ plants: [] });
      await closed;
      expect(service.logs).toContainEqual(expect.objectContaining({ msg: 'too many connections', maximum: 8 }));
      for (const socket of mute) socket.destroy();
    },
  );

  test.runIf(process.platform === 'linux')('a limit on open files that has no room for them lowers it', async () => {
    const ports = { PORT: `${await freePort()}`, GRPC_PORT: `${await freePort()}`, ADMIN_PORT: `${await freePort()}` };
    const env = { PATH: process.env.PATH, DATA_DIR: temporaryDirectory(onTestFinished), ...ports };
    const command = ['-c', 'ulimit -n 300; exec "$@"', 'sh', process.execPath, 'bin/plantstore.js', 'serve'];
    const service = spawn('/bin/sh', command, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(async () => {
      service.kill('SIGKILL');
      await once(service, 'close');
    });
    let output = '';
    service.stdout.on('data', (bytes) => {
      output += bytes;
    });
    const statusOf = async (path: string) => {
      const url = `http://127.0.0.1:${ports.ADMIN_PORT}/${path}`;
      const answer = await fetch(url, { headers: { connection: 'close' }, signal: AbortSignal.timeout(2_000) });
      return answer.status;
    };
    await expect.poll(() => statusOf('readyz').catch(() => 0), { timeout: 60_000 }).toBe(200);
    const mute = Array.from({ length: 400 }, () => connect(Number(ports.PORT), '127.0.0.1').on('error', () => {}));
    onTestFinished(() => {
      for (const socket of mute) socket.destroy();
    });
    await Promise.all(mute.map((socket) => once(socket, 'connect')));
    await expect.poll(() => output).toContain('too many connections');
    expect(await Promise.all([statusOf('livez'), statusOf('readyz')])).toEqual([200, 200]);
    expect(output).toContain('the limit on open files has no room for MAX_CONNECTIONS');
  });
});
