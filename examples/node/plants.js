// Needs Node.js 22.19 or newer.
import { ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { ErrorInfoSchema } from './gen/google/rpc/error_details_pb.js';
import { PlantStoreService } from './gen/plantstore/v1/plant_store_service_pb.js';

const transport = createGrpcTransport({ baseUrl: `http://${process.env.GRPC_STORE}`, defaultTimeoutMs: 10_000 });
const plants = createClient(PlantStoreService, transport);
const authorization = `Bearer ${process.env.TOKEN}`;
const fern = { id: 9007199254740993n, name: 'Fern' };

/** Adds a plant. Each write has its own key; after UNAVAILABLE or a deadline, retry with the same key. */
const add = (plant) =>
  plants.createPlant({ plant }, { headers: { authorization, 'idempotency-key': crypto.randomUUID() } });

const { position } = await add(fern);
console.log('added at position', position);
try {
  await add(fern);
} catch (thrown) {
  const [info] = ConnectError.from(thrown).findDetails(ErrorInfoSchema);
  console.log(info?.reason ?? thrown);
}
for await (const message of plants.streamPlants({}, { headers: { authorization } }))
  for (const { name } of message.plants) console.log(name);
await plants.deletePlant({ id: fern.id }, { headers: { authorization } });
