import { compare, type Effort } from '../compare.ts';
import { checkoutsOf, plantstore } from '../plantstore.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';
import { RestSide } from '../rest-side.ts';
import { Scene } from '../scene.ts';
import { GRPC_WORKS, REST_WORKS } from '../works.ts';
import { openSide } from './grpc.ts';

/**
 * This checkout beside others of the same service (`--beside DIRECTORY`, as often as wanted), on one mongod and in
 * turns: what a change gains or costs, and what is lost without a part that was written for speed.
 */
export async function versions(bench: Bench, effort: Effort): Promise<Results> {
  if (effort.beside.length === 0) throw new Error('versions: name another checkout with --beside DIRECTORY');
  const scene = await Scene.open(bench);
  const [rest, grpc] = [[], []] as [RestSide[], Awaited<ReturnType<typeof openSide>>[]];
  for (const [index, checkout] of checkoutsOf(effort).entries()) {
    const database = `version${index}`;
    const server = await bench.server(plantstore(bench.directory(), scene.environment(database), checkout));
    const settled = () => scene.projected(database);
    rest.push(await RestSide.open(scene, server, settled));
    grpc.push(await openSide({ scene, store: true }, server, server.grpcAddress, settled));
  }
  return {
    comparison: {
      ...(await compare(Object.values(REST_WORKS), rest, effort)),
      ...(await compare(Object.values(GRPC_WORKS), grpc, effort)),
    },
  };
}
