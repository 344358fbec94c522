import { createClient } from '@connectrpc/connect';
import { createGrpcWebTransport } from '@connectrpc/connect-node';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { bearer, grpcClient, unary } from './grpc.ts';
import type { RunningService } from './running-service.ts';

const CONNECT = '/plantstore.v1.PlantStoreService';

/** Over every protocol: adds, lists and deletes a plant, and makes calls that fail. Awaits each response. */
export async function sendTraffic(
  service: RunningService,
  token: string,
  headers: Record<string, string> = {},
): Promise<void> {
  const ask = async (method: string, path: string, body?: string, authorization = `Bearer ${token}`) => {
    const response = await fetch(service.url + path, {
      method,
      headers: { authorization, ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body }),
    });
    await response.text();
  };
  await ask('POST', '/plants', '{"id":1,"name":"Fern"}');
  await ask('POST', '/plants', '{"id":1,"name":"Fern"}');
  await ask('GET', '/plants?limit=5&access_token=never');
  await ask('DELETE', '/plants/1');
  await ask('GET', '/plants', undefined, 'Bearer nonsense');
  await ask('GET', '/nowhere/at/all');
  await ask('GET', '/%zz');
  await ask('POST', `${CONNECT}/ListPlants`, '{}');
  await ask('POST', `${CONNECT}/DeletePlant`, '{"id":"7"}');
  await ask('POST', `${CONNECT}/DeletePlant`, 'nonsense');
  const transport = createGrpcWebTransport({ baseUrl: service.url, httpVersion: '1.1' });
  const web = createClient(PlantStoreService, transport);
  const options = { headers: { authorization: `Bearer ${token}`, ...headers } };
  await web.listPlants({}, options);
  await web.deletePlant({ id: 8n }, options).catch(() => {});
  const metadata = bearer(token);
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  const grpc = grpcClient(service.grpcUrl);
  try {
    await unary(grpc, 'createPlant', { plant: { id: 2n, name: 'Moss' } }, metadata);
    await unary(grpc, 'deletePlant', { id: 9n }, metadata).catch(() => {});
    for (const path of ['/plantstore.v1.PlantStoreService/MakeTea', '/nowhere.Service/AtAll'])
      await new Promise((done) => grpc.makeUnaryRequest(path, Buffer.from, Buffer.from, [], metadata, done));
  } finally {
    grpc.close();
  }
}
