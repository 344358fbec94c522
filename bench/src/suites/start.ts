import { join } from 'node:path';
import { compare, type Effort, type Measured, type Side } from '../compare.ts';
import { plantstore } from '../plantstore.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';
import { Scene } from '../scene.ts';
import { printed, type Server, startServer } from '../server.ts';
import { BARE_IMPORTS, OURS, START_WORKS } from '../works.ts';

const IMPORTS = join(import.meta.dirname, '../peers/bare-imports.js');

/**
 * How long a start takes from spawn to ready, and what CPU until then, on a log that is there, beside a process that
 * only imports Fastify and grpc-js. Both find their compiled code in a cache that the round of warm-up has filled.
 */
export async function start(bench: Bench, effort: Effort): Promise<Results> {
  const scene = await Scene.open(bench);
  const { MONGODB_URI = '', ...issuer } = scene.environment('start');
  const [sqlite, mongodb, cache] = [bench.directory(), bench.directory(), bench.directory()];
  const ours: Side = {
    name: OURS,
    run: (work) =>
      started(() =>
        work === START_WORKS.sqlite ? plantstore(sqlite, issuer) : plantstore(mongodb, { ...issuer, MONGODB_URI }),
      ),
  };
  const bare: Side = {
    name: BARE_IMPORTS,
    run: () =>
      started(() =>
        startServer(
          BARE_IMPORTS,
          process.execPath,
          [IMPORTS],
          { NODE_COMPILE_CACHE: cache },
          printed((line) => line),
        ),
      ),
  };
  return { comparison: await compare(Object.values(START_WORKS), [ours, bare], effort) };
}

/** Starts a server, measures until it is ready, and stops it. */
async function started(begin: () => Promise<Server>): Promise<Measured> {
  const since = performance.now();
  const server = await begin();
  const time = performance.now() - since;
  const cpu = server.cpu();
  await server.stop();
  return { count: 1, rate: 1_000 / time, p50: time, p99: time, max: time, service: cpu, cpu, client: 0 };
}
