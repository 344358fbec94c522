import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ClientReadableStream } from '@grpc/grpc-js';
import { expect, inject, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../../support/free-port.ts';
import { bearer, grpcClient, unary } from '../../support/grpc.ts';
import { findProgram, ReverseProxy } from '../../support/proxies.ts';
import { plantstore } from '../../support/run.ts';
import { type Service, startService } from '../../support/service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const mongodbUri = inject('mongodbUri');
const haproxy = findProgram('haproxy');

/** The instances of docker-compose.yml, and the configuration of its balancer. */
const INSTANCES = ['plantstore', 'plantstore2', 'plantstore3'];
const BALANCER: string = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }).configs.balancer.content;

/** Clients of each kind at once. */
const CLIENTS = 4;

/** One plant of so many stays: the client of gRPC takes no message of more than 1,000 plants. */
const KEPT = 20;

/** What the clients asked for, did, and did not get. */
interface Tally {
  done: number;
  /** When adds were acknowledged, of performance.now(). */
  readonly times: number[];
  readonly added: Set<string>;
  readonly failures: unknown[];
}

/** Adds, deletes and lists without a pause, until it is told to stop. */
async function loadRest(url: string, token: string, tally: Tally, ids: Iterator<number>, signal: AbortSignal) {
  const headers = { authorization: `Bearer ${token}` };
  const ask = async (path: string, init: RequestInit) => {
    try {
      const reply = await fetch(url + path, { ...init, headers: { ...headers, ...init.headers } });
      const text = await reply.text();
      if (!reply.ok) throw new Error(`${init.method} ${path}: ${reply.status} ${text}`);
      tally.done++;
      return true;
    } catch (error) {
      tally.failures.push(error);
      return false;
    }
  };
  while (!signal.aborted) {
    const id = ids.next().value;
    const body = JSON.stringify({ id, name: `plant ${id}` });
    if (await ask('/plants', { method: 'POST', body, headers: { 'content-type': 'application/json' } }))
      acknowledged(tally, `plant ${id}`);
    await ask('/plants?limit=10', { method: 'GET' });
    if (id % KEPT > 0) await ask(`/plants/${id}`, { method: 'DELETE' });
  }
}

/** The same over gRPC, and with streams. */
async function loadGrpc(address: string, token: string, tally: Tally, ids: Iterator<number>, signal: AbortSignal) {
  const client = grpcClient(address);
  const metadata = bearer(token);
  const ask = async (call: Promise<unknown>) => {
    try {
      await call;
      tally.done++;
      return true;
    } catch (error) {
      tally.failures.push(error);
      return false;
    }
  };
  const stream = () =>
    new Promise((resolve, reject) => {
      const messages: ClientReadableStream<unknown> = client.streamPlants!({}, metadata);
      messages.on('end', resolve).on('error', reject).resume();
    });
  while (!signal.aborted) {
    const id = ids.next().value;
    const plant = { id: BigInt(id), name: `plant ${id}` };
    if (await ask(unary(client, 'createPlant', { plant }, metadata))) acknowledged(tally, plant.name);
    await ask(unary(client, 'listPlants', { limit: 10 }, metadata));
    await ask(stream());
    if (id % KEPT > 0) await ask(unary(client, 'deletePlant', { id: plant.id }, metadata));
  }
  client.close();
}

function acknowledged({ added, times }: Tally, name: string): void {
  added.add(name);
  times.push(performance.now());
}

function* numbers(): Generator<number, never> {
  for (let number = 1; ; number++) yield number;
}

test.skipIf(mongodbUri === undefined || haproxy === undefined)(
  'three instances are restarted in turns behind the balancer of docker-compose.yml, under load, and no request fails',
  { timeout: 180_000 },
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const MONGODB_URI = mongodbUri!.replace('/?', `/rolling-${randomUUID()}?`);
    const ports: Record<string, string>[] = [];
    const [rest, grpc] = [await freePort(), await freePort()];
    let balancer = BALANCER.replace(/^resolvers .*\n.*\n/m, '')
      .replace(' port 9464', '')
      .replace(' resolvers docker', '')
      .replace('bind :8080', `bind 127.0.0.1:${rest}`)
      .replace('bind :50051', `bind 127.0.0.1:${grpc}`);
    for (const name of INSTANCES) {
      const own = { PORT: await freePort(), GRPC_PORT: await freePort(), ADMIN_PORT: await freePort() };
      ports.push(Object.fromEntries(Object.entries(own).map(([port, number]) => [port, `${number}`])));
      balancer = balancer
        .replace(`${name}:8080`, `127.0.0.1:${own.PORT} port ${own.ADMIN_PORT}`)
        .replace(`${name}:50051`, `127.0.0.1:${own.GRPC_PORT} port ${own.ADMIN_PORT}`);
    }
    // The grace that is the default.
    const start = (index: number) =>
      startService({ MONGODB_URI, DATA_DIR: directory, DRAIN_GRACE: '1', ...ports[index] });
    const services: Service[] = [];
    try {
      services.push(...(await Promise.all(INSTANCES.map((_, index) => start(index)))));
      await using proxy = await ReverseProxy.haproxy(haproxy!, rest, balancer);
      const token = await services[0]!.token('alice');
      const tally: Tally = { done: 0, times: [], added: new Set(), failures: [] };
      const stop = new AbortController();
      const ids = numbers();
      const load = Array.from({ length: CLIENTS }, () => [
        loadRest(`http://127.0.0.1:${rest}`, token, tally, ids, stop.signal),
        loadGrpc(`127.0.0.1:${grpc}`, token, tally, ids, stop.signal),
      ]).flat();
      for (const [index, old] of services.entries()) {
        expect(await old.stop()).toBe(0);
        services[index] = await start(index);
        await proxy.saysUp(INSTANCES[index]!);
      }
      stop.abort();
      await Promise.all(load);
      const gap = Math.max(...tally.times.map((time, index) => time - (tally.times[index - 1] ?? time)));
      console.log(`${tally.added.size} adds; longest time without one: ${gap.toFixed(0)} ms`);
      expect(tally.failures.map(String)).toEqual([]);
      expect(tally.done).toBeGreaterThan(CLIENTS * 10);
      const { stdout } = await plantstore(['audit', 'export'], { MONGODB_URI, DATA_DIR: directory });
      const added = stdout.matchAll(/"type":"PlantAdded".*?"name":"([^"]+)"/g).map(([, name]) => name);
      expect([...added].toSorted()).toEqual([...tally.added].toSorted());
    } finally {
      for (const service of services) await service.stop();
    }
  },
);
