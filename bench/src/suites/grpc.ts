import { create, toBinary } from '@bufbuild/protobuf';
import {
  CreatePlantResponseSchema,
  ListPlantsResponseSchema,
} from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { compare, type Effort, type Side } from '../compare.ts';
import { startGoPeer } from '../peers/go.ts';
import { startPeer } from '../peers/start.ts';
import { FIRST_ID, listOf } from '../plants.ts';
import { plantstore } from '../plantstore.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';
import { Scene } from '../scene.ts';
import type { Server } from '../server.ts';
import { GRPC_WORKS } from '../works.ts';

const PLANTS = 20;
const CALLS = 64;
const LIST = create(ListPlantsResponseSchema, { plants: listOf(PLANTS) });
const PLANT = create(CreatePlantResponseSchema, { plant: listOf(1)[0]!, position: 123_456n });

/** Replies in JSON, as jobs compare them. */
const LISTED = JSON.stringify({ plants: listOf(PLANTS) });
const ADDED = JSON.stringify({ plant: { name: 'Plant {id}', tag: 'indoor' } });
const FIXED = JSON.stringify({ plant: listOf(1)[0] });

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

/** Peers without a store. */
const STORELESS = { 'bare grpc-js': 'bare-grpc.ts', "connect-node's gRPC": 'connect-grpc.ts' };

/**
 * gRPC on MongoDB beside a Go service with its store, and beside a bare grpc-js and connect-node's gRPC without any.
 */
export async function grpc(bench: Bench, effort: Effort): Promise<Results> {
  const scene = await Scene.open(bench);
  const ours = await bench.server(plantstore(bench.directory(), scene.environment('plantstore')));
  const settled = () => scene.projected('plantstore');
  const sides = [await openSide({ scene, store: true }, ours, ours.grpcAddress, settled)];
  const replies = {
    LIST: base64(toBinary(ListPlantsResponseSchema, LIST)),
    ADDED: base64(toBinary(CreatePlantResponseSchema, PLANT)),
  };
  for (const [name, file] of Object.entries(STORELESS)) {
    const peer = await startPeer(bench, name, file, replies);
    sides.push(await openSide({ scene, store: false }, peer, peer.url));
  }
  const go = await startGoPeer(bench, scene.environment('go'));
  if (go !== undefined) sides.push(await openSide({ scene, store: true }, { ...go, name: 'Go gRPC' }, go.grpcAddress));
  return { comparison: await compare(Object.values(GRPC_WORKS), sides, effort) };
}

/** A side whose lister has its plants. A peer without a store adds nothing, and replies the same to every add. */
export async function openSide(
  { scene, store }: { readonly scene: Scene; readonly store: boolean },
  server: Server,
  address: string,
  settled?: () => Promise<void>,
): Promise<Side> {
  const job = { protocol: 'grpc', address, calls: CALLS } as const;
  const list = { ...job, method: 'listPlants', token: scene.token('lister'), reply: LISTED } as const;
  const add = { ...job, method: 'createPlant', token: scene.token('adder'), reply: store ? ADDED : FIXED } as const;
  let ids = { from: FIRST_ID, to: FIRST_ID + PLANTS };
  await scene.run({ ...add, token: list.token, calls: 1, seconds: Number.POSITIVE_INFINITY, ids });
  ids = { from: ids.to, to: Number.POSITIVE_INFINITY };
  return {
    name: server.name,
    run: async (work, seconds) => {
      const measured = await scene.measure(
        server,
        { ...(work === GRPC_WORKS.list ? list : add), seconds, ids },
        settled,
      );
      ids.from = measured.nextId;
      return measured;
    },
  };
}
