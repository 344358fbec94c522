import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { fromBinary } from '@bufbuild/protobuf';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import {
  CreatePlantResponseSchema,
  ListPlantsResponseSchema,
  PlantStoreService,
} from '../../../gen/plantstore/v1/plant_store_service_pb.ts';

/** Connect's own server for Node with messages that it was given, without authentication or a store. */
const [list, added] = [process.env.LIST ?? '', process.env.ADDED ?? ''].map((text) => Buffer.from(text, 'base64'));
const plants = fromBinary(ListPlantsResponseSchema, list!);
const plant = fromBinary(CreatePlantResponseSchema, added!);
const server = createServer(
  connectNodeAdapter({
    routes: (router) => router.service(PlantStoreService, { listPlants: () => plants, createPlant: () => plant }),
  }),
);
process.on('SIGTERM', () => process.exit(0));
server.listen(0, '127.0.0.1', () => console.log(`127.0.0.1:${(server.address() as AddressInfo).port}`));
