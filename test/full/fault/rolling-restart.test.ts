import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClientReadableStream } from '@grpc/grpc-js';
import { expect, inject, test } from 'vitest';
import { Balancer } from '../../support/balancer.ts';
import { bearer, grpcClient, unary } from '../../support/grpc.ts';
import { plantstore } from '../../support/run.ts';
import { type Service, startService } from '../../support/service.ts';

const mongodbUri = inject('mongodbUri');

/** Clients of each kind at once. */
const CLIENTS = 4;

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
    if (id % 10 === 0) await ask(`/plants/${id}`, { method: 'DELETE' });
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

test.skipIf(mongodbUri === undefined)(
  'three instances are restarted in turns behind a balancer, under load, and no request fails',
  { timeout: 180_000 },
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'plantstore-rolling-'));
    const MONGODB_URI = mongodbUri!.replace('/?', `/rolling-${randomUUID()}?`);
    // The grace that is the default; whoever probes ten times a second sees it.
    const start = () => startService({ MONGODB_URI, DATA_DIR: directory, DRAIN_GRACE: '1' });
    await using balancer = await Balancer.start();
    let services: Service[] = [await start(), await start(), await start()];
    try {
      for (const service of services) await balancer.add(service);
      const token = await services[0]!.token('alice');
      const tally: Tally = { done: 0, times: [], added: new Set(), failures: [] };
      const stop = new AbortController();
      const ids = numbers();
      const load = Array.from({ length: CLIENTS }, () => [
        loadRest(balancer.url, token, tally, ids, stop.signal),
        loadGrpc(balancer.grpcUrl, token, tally, ids, stop.signal),
      ]).flat();
      for (const old of [...services]) {
        expect(await old.stop()).toBe(0);
        balancer.remove(old);
        const fresh = await start();
        services = [...services.filter((service) => service !== old), fresh];
        await balancer.add(fresh);
      }
      stop.abort();
      await Promise.all(load);
      const gap = Math.max(...tally.times.map((time, index) => time - (tally.times[index - 1] ?? time)));
      console.log(`${tally.added.size} adds; longest time without one: ${gap.toFixed(0)} ms`);
      expect(tally.failures).toEqual([]);
      expect(tally.done).toBeGreaterThan(CLIENTS * 10);
      const { stdout } = await plantstore(['audit', 'export'], { MONGODB_URI, DATA_DIR: directory });
      const added = stdout.matchAll(/"type":"PlantAdded".*?"name":"([^"]+)"/g).map(([, name]) => name);
      expect([...added].toSorted()).toEqual([...tally.added].toSorted());
    } finally {
      for (const service of services) await service.stop();
      rmSync(directory, { recursive: true, force: true });
    }
  },
);
