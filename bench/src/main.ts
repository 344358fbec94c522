import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { load, type MakeRequest, type Round } from './load.ts';
import { plantstore } from './plantstore.ts';
import { type Server, startServer } from './server.ts';

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const [rounds, seconds] = values.quick ? [1, 3] : [5, 6];
const PLANTS = 20;
const CONNECTIONS = 64;

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!;

/** Runs ours and the limit in turns, so that what else the machine does meets both. */
async function compare(work: string, ours: () => Promise<Round>, limit: () => Promise<Round>): Promise<void> {
  const pairs: { ours: Round; limit: Round }[] = [];
  for (let round = 0; round < rounds!; round++) pairs.push({ ours: await ours(), limit: await limit() });
  const of = (side: 'ours' | 'limit', figure: keyof Round) => median(pairs.map((pair) => pair[side][figure]));
  const line = (side: 'ours' | 'limit') =>
    `${of(side, 'rate').toFixed(0).padStart(8)}/s  p50 ${of(side, 'p50').toFixed(1)} ms  p99 ${of(side, 'p99').toFixed(1)} ms  CPU ${of(side, 'cpu').toFixed(0)} us`;
  console.log(`\n${work}`);
  console.log(`  plantstore    ${line('ours')}`);
  console.log(`  bare Fastify  ${line('limit')}`);
  console.log(
    `  ratio         ${median(pairs.map((pair) => pair.ours.rate / pair.limit.rate)).toFixed(2)} (median of ${rounds})`,
  );
}

const directory = mkdtempSync(join(tmpdir(), 'plantstore-bench-'));
const servers: Server[] = [];
try {
  const { server: ours, token } = await plantstore(directory, {});
  servers.push(ours);
  const [lister, adder] = [token('lister'), token('adder')];
  const headers = (bearer: string) => ({ authorization: `Bearer ${bearer}`, 'content-type': 'application/json' });
  const plant = (id: number) => ({
    method: 'POST' as const,
    path: '/plants',
    body: `{"id":${id},"name":"Monstera","tag":"indoor"}`,
  });

  for (let id = 0; id < PLANTS; id++) {
    const { method, path, body } = plant(id);
    const reply = await fetch(ours.url + path, { method, body, headers: headers(lister) });
    if (!reply.ok) throw new Error(`seed: ${reply.status} ${await reply.text()}`);
  }
  const list = await (await fetch(`${ours.url}/plants`, { headers: headers(lister) })).text();
  const bare = await startServer(
    'bare Fastify',
    [join(import.meta.dirname, 'peers/bare-fastify.ts')],
    { LIST: list, ADDED: '{"name":"Monstera","tag":"indoor"}' },
    (line) => line,
  );
  servers.push(bare);

  let id = 0;
  const add: MakeRequest = () => ({ ...plant(id++), headers: headers(adder) });
  const get: MakeRequest = () => ({ method: 'GET', path: '/plants', headers: headers(lister) });
  console.log(
    `Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model}), ${rounds} rounds of ${seconds} s, embedded store (SQLite)`,
  );
  await load(ours, add, CONNECTIONS, 2);
  await load(bare, add, CONNECTIONS, 2);
  await compare(
    `POST /plants, ${CONNECTIONS} connections, durable`,
    () => load(ours, add, CONNECTIONS, seconds!),
    () => load(bare, add, CONNECTIONS, seconds!),
  );
  await compare(
    `GET /plants, ${PLANTS} plants, ${CONNECTIONS} connections`,
    () => load(ours, get, CONNECTIONS, seconds!, list),
    () => load(bare, get, CONNECTIONS, seconds!, list),
  );
} finally {
  for (const server of servers) await server.stop();
  rmSync(directory, { recursive: true });
}
