import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  CreatePlantResponseSchema,
  ListPlantsResponseSchema,
  PlantStoreService,
} from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { compare, type Effort, type Side } from '../compare.ts';
import { type Calls, loadGrpc } from '../load-grpc.ts';
import { seed } from '../plants.ts';
import { plantstore } from '../plantstore.ts';
import type { Bench } from '../resources.ts';
import { type Server, startServer } from '../server.ts';

const PLANTS = 20;
const CALLS = 64;
const PLANT = { name: 'Monstera', tag: 'indoor' };

/** gRPC on the embedded store beside a bare grpc-js and Connect's server for Node, both without authentication or a store. */
export async function grpc(bench: Bench, effort: Effort): Promise<void> {
  const port = await freePort();
  const { server: ours, token } = await bench.server(plantstore(bench.directory(), { GRPC_PORT: String(port) }));
  const [lister, adder] = [token('lister'), token('adder')];
  await seed(ours.url, lister, PLANTS);
  const list = toBinary(
    ListPlantsResponseSchema,
    create(ListPlantsResponseSchema, { plants: Array(PLANTS).fill(PLANT) }),
  );
  const added = toBinary(
    CreatePlantResponseSchema,
    create(CreatePlantResponseSchema, { plant: PLANT, position: 123_456n }),
  );
  const peer = async (name: string, file: string) => {
    const env = { LIST: Buffer.from(list).toString('base64'), ADDED: Buffer.from(added).toString('base64') };
    const start = startServer(name, [join(import.meta.dirname, '../peers', file)], env, (line) => line);
    return (await bench.server(start.then((server) => ({ server })))).server;
  };
  const bare = await peer('bare grpc-js', 'bare-grpc.ts');
  const connect = await peer("connect-node's gRPC", 'connect-grpc.ts');

  const { listPlants, createPlant } = PlantStoreService.method;
  const path = ({ name }: { readonly name: string }) => `/${PlantStoreService.typeName}/${name}`;
  let id = 0n;
  const works: Record<'list' | 'add', Calls> = {
    list: {
      path: path(listPlants),
      input: listPlants.input,
      make: () => ({}),
      token: lister,
      isRight: (bytes) => bytes.equals(list),
    },
    add: {
      path: path(createPlant),
      input: createPlant.input,
      make: () => ({ plant: { id: id++, ...PLANT } }),
      token: adder,
      isRight: (bytes) => fromBinary(CreatePlantResponseSchema, bytes).plant?.name === PLANT.name,
    },
  };
  const sidesOf = (work: Calls): Side[] =>
    [
      [ours, `127.0.0.1:${port}`] as const,
      ...[bare, connect].map((server): [Server, string] => [server, server.url]),
    ].map(([server, address]) => ({
      name: server.name,
      round: (seconds) => loadGrpc(server, address, work, CALLS, seconds),
    }));
  for (const [name, work] of Object.entries(works)) {
    const sides = sidesOf(work);
    for (const side of sides) await side.round(3);
    await compare(
      `gRPC, ${name === 'list' ? `list of ${PLANTS}` : 'add'}, ${CALLS} calls at once, SQLite`,
      sides,
      effort,
    );
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
