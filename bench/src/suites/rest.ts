import { compare, type Effort, type Side } from '../compare.ts';
import { startGoPeer } from '../peers/go.ts';
import { startPeer } from '../peers/start.ts';
import { plantstore } from '../plantstore.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';
import { LONG, RestSide } from '../rest-side.ts';
import { Scene } from '../scene.ts';
import { FASTIFY_LOGGING, OURS_LOGGING, REST_WORKS } from '../works.ts';

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
  const sides: Side[] = [await RestSide.open(scene, ours, () => scene.projected('plantstore'))];
  for (const [name, file] of Object.entries(PEERS)) {
    const environment = { ...scene.environment(file.replace('.ts', '')), TOKEN_OF_LONG: scene.token(LONG) };
    sides.push(await RestSide.open(scene, await startPeer(bench, name, file, environment)));
  }
  const go = await startGoPeer(bench, scene.environment('go'));
  if (go !== undefined) sides.push(await RestSide.open(scene, { ...go, name: 'Go grpc-gateway' }));
  sides.push(await logging(bench, scene));
  const withLines = { LOGS: 'true', TOKEN_OF_LONG: scene.token(LONG) };
  const peer = await RestSide.open(scene, await startPeer(bench, FASTIFY_LOGGING, PEERS['bare Fastify'], withLines));
  sides.push(inListOf20(peer));
  return { comparison: await compare(Object.values(REST_WORKS), sides, effort) };
}

/** Ours as it runs by default, with a line for each request, which the bench reads and discards. */
async function logging(bench: Bench, scene: Scene): Promise<Side> {
  const environment = { ...scene.environment('logging'), LOG_LEVEL: 'info' };
  const server = await bench.server(plantstore(bench.directory(), environment, { name: OURS_LOGGING }));
  return inListOf20(await RestSide.open(scene, server, () => scene.projected('logging')));
}

/** A side that has a part in one work. */
const inListOf20 = (side: Side): Side => ({
  name: side.name,
  run: async (work, seconds) => (work === REST_WORKS.get20 ? side.run(work, seconds) : undefined),
});
