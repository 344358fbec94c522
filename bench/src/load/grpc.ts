import { create, fromBinary, toBinary, toJson } from '@bufbuild/protobuf';
import { type ChannelOptions, Client, credentials, Metadata } from '@grpc/grpc-js';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { newPlant } from '../plants.ts';
import type { Done, GrpcJob } from './job.ts';
import { Stopwatch } from './sample.ts';

const OWN_CONNECTION: ChannelOptions = { 'grpc.use_local_subchannel_pool': 1 };

/** Runs a job with grpc-js. Rejects when a call fails or is answered wrongly. */
export async function runGrpc({ address, token, method, calls, seconds, reply, ids }: GrpcJob): Promise<Done> {
  const client = new Client(address, credentials.createInsecure(), OWN_CONNECTION);
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  const { name, input, output } = PlantStoreService.method[method];
  const call = (request: Buffer): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        `/${PlantStoreService.typeName}/${name}`,
        (bytes: Buffer) => bytes,
        (bytes) => bytes,
        request,
        metadata,
        (error, response) => (error === null ? resolve(response!) : reject(error)),
      );
    });
  const requestOf = (id: number) => (method === 'createPlant' ? { plant: newPlant(id) } : {});

  const stopwatch = new Stopwatch();
  let nextId = ids.from;
  let right: Buffer | undefined;
  /** Decoding every list would cost more than the call: one is decoded, and the others are to have the same bytes. */
  const check = (response: Buffer, id: number) => {
    if (method === 'listPlants' && right?.equals(response)) return;
    const { position: _, ...json } = toJson(output, fromBinary(output, response)) as Record<string, unknown>;
    if (JSON.stringify(json) !== reply.replaceAll('{id}', `${id}`))
      throw new Error(`a wrong reply: ${JSON.stringify(json).slice(0, 200)}`);
    right = response;
  };
  const caller = async () => {
    while (!stopwatch.isOver(seconds) && nextId < ids.to) {
      const id = nextId++;
      const since = performance.now();
      check(await call(Buffer.from(toBinary(input, create(input, requestOf(id) as never)))), id);
      stopwatch.done(since);
    }
  };
  try {
    await Promise.all(Array.from({ length: calls }, caller));
    return { ...stopwatch.sample(), nextId };
  } finally {
    client.close();
  }
}
