import { join } from 'node:path';
import { compare, type Effort } from '../compare.ts';
import { plantstore } from '../plantstore.ts';
import type { Bench } from '../resources.ts';
import { LONG, REST_WORKS, RestSide } from '../rest-side.ts';
import { Scene } from '../scene.ts';
import { startServer } from '../server.ts';

const PEERS = {
  'bare Fastify': 'bare-fastify.ts',
  'Fastify + mongodb': 'fastify-mongodb.ts',
  'Express + Mongoose': 'express-mongoose.ts',
  'emmett + MongoDB': 'emmett-mongodb.ts',
  'transaction a request': 'fastify-transactions.ts',
};

export async function rest(bench: Bench, effort: Effort) {
  const scene = await Scene.open(bench);
  const { server } = await bench.server(plantstore(bench.directory(), scene.environment('plantstore')));
  const sides = [await RestSide.open(scene, server, () => scene.projected('plantstore'))];
  for (const [name, file] of Object.entries(PEERS)) {
    const environment = { ...scene.environment(file.replace('.ts', '')), TOKEN_1000: scene.token(LONG) };
    const start = startServer(name, [join(import.meta.dirname, '../peers', file)], environment, (line) => line);
    const peer = await bench.server(start.then((server) => ({ server })));
    const t = performance.now();
    sides.push(await RestSide.open(scene, peer.server));
    console.log(name, performance.now() - t);
  }
  return compare(Object.values(REST_WORKS), sides, effort);
}
