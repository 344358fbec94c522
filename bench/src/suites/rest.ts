import { compare, type Effort } from '../compare.ts';
import { startGoPeer } from '../peers/go.ts';
import { startPeer } from '../peers/start.ts';
import { plantstore } from '../plantstore.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';
import { LONG, RestSide } from '../rest-side.ts';
import { Scene } from '../scene.ts';
import { REST_WORKS } from '../works.ts';

const PEERS = {
  'bare Fastify': 'bare-fastify.ts',
  'Fastify + mongodb': 'fastify-mongodb.ts',
  'Express + Mongoose': 'express-mongoose.ts',
  'emmett + MongoDB': 'emmett-mongodb.ts',
  'transaction a request': 'fastify-transactions.ts',
};

/** REST on MongoDB beside what a user would write instead, and beside the limit. Tokens are RS256. */
export async function rest(bench: Bench, effort: Effort): Promise<Results> {
  const scene = await Scene.open(bench);
  const ours = await bench.server(plantstore(bench.directory(), scene.environment('plantstore')));
  const sides = [await RestSide.open(scene, ours, () => scene.projected('plantstore'))];
  for (const [name, file] of Object.entries(PEERS)) {
    const environment = { ...scene.environment(file.replace('.ts', '')), TOKEN_OF_LONG: scene.token(LONG) };
    sides.push(await RestSide.open(scene, await startPeer(bench, name, file, environment)));
  }
  const go = await startGoPeer(bench, scene.environment('go'));
  if (go !== undefined) sides.push(await RestSide.open(scene, { ...go, name: 'Go grpc-gateway' }));
  return { comparison: await compare(Object.values(REST_WORKS), sides, effort) };
}
