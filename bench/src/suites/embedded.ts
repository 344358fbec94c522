import { compare, type Effort } from '../compare.ts';
import { startPeer } from '../peers/start.ts';
import { plantstore } from '../plantstore.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';
import { LONG, RestSide } from '../rest-side.ts';
import { Scene } from '../scene.ts';
import { REST_WORKS } from '../works.ts';

const WORKS = [REST_WORKS.get20, REST_WORKS.post64, REST_WORKS.post1];

/** The service on its embedded store, SQLite, beside a bare Fastify that replies the same bytes. */
export async function embedded(bench: Bench, effort: Effort): Promise<Results> {
  const scene = await Scene.open(bench);
  const { MONGODB_URI: _, ...environment } = scene.environment('unused');
  const ours = await bench.server(plantstore(bench.directory(), environment));
  const bare = await startPeer(bench, 'bare Fastify', 'bare-fastify.ts', { TOKEN_OF_LONG: scene.token(LONG) });
  const sides = [await RestSide.open(scene, ours), await RestSide.open(scene, bare)];
  const comparison = await compare(WORKS, sides, effort);
  return {
    comparison: Object.fromEntries(Object.entries(comparison).map(([work, windows]) => [`${work}, SQLite`, windows])),
  };
}
