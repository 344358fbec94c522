import { join } from 'node:path';
import { compare, type Effort, type Side } from '../compare.ts';
import { load } from '../load.ts';
import { ADDED, adds, headers, lists, seed } from '../plants.ts';
import { plantstore } from '../plantstore.ts';
import type { Bench } from '../resources.ts';
import { startServer } from '../server.ts';

const PLANTS = 20;
const CONNECTIONS = 64;

/** The service on its embedded store beside a bare Fastify that replies the same bytes, without authentication or a store. */
export async function embedded(bench: Bench, effort: Effort): Promise<void> {
  const { server: ours, token } = await bench.server(plantstore(bench.directory(), {}));
  const [lister, adder] = [token('lister'), token('adder')];
  await seed(ours.url, lister, PLANTS);
  const list = await (await fetch(`${ours.url}/plants`, { headers: headers(lister) })).text();
  const peer = join(import.meta.dirname, '../peers/bare-fastify.ts');
  const start = startServer('bare Fastify', [peer], { LIST: list, ADDED }, (line) => line);
  const { server: bare } = await bench.server(start.then((server) => ({ server })));

  const add = adds(adder);
  const sides = (work: 'add' | 'list'): Side[] =>
    [ours, bare].map((server) => ({
      name: server.name,
      round: (seconds) =>
        work === 'add'
          ? load(server, add, CONNECTIONS, seconds, ADDED)
          : load(server, lists(lister), CONNECTIONS, seconds, list),
    }));
  for (const side of sides('add')) await side.round(2);
  await compare(`POST /plants, ${CONNECTIONS} connections, SQLite, durable`, sides('add'), effort);
  for (const side of sides('list')) await side.round(1);
  await compare(`GET /plants, ${PLANTS} plants, ${CONNECTIONS} connections, SQLite`, sides('list'), effort);
}
