import { Server, ServerCredentials } from '@grpc/grpc-js';

/**
 * The limit: a bare grpc-js that replies the bytes it was given, without authentication, a store or protobuf: the same
 * plant to every add.
 */
const method = (name: string) => ({
  path: `/plantstore.v1.PlantStoreService/${name}`,
  requestStream: false,
  responseStream: false,
  requestSerialize: (bytes: Buffer) => bytes,
  requestDeserialize: (bytes: Buffer) => bytes,
  responseSerialize: (bytes: Buffer) => bytes,
  responseDeserialize: (bytes: Buffer) => bytes,
});
const [list, added] = [process.env.LIST ?? '', process.env.ADDED ?? ''].map((text) => Buffer.from(text, 'base64'));
const server = new Server();
server.addService(
  { listPlants: method('ListPlants'), createPlant: method('CreatePlant') },
  {
    listPlants: (_call: unknown, answer: (error: null, bytes: Buffer) => void) => answer(null, list!),
    createPlant: (_call: unknown, answer: (error: null, bytes: Buffer) => void) => answer(null, added!),
  },
);
process.on('SIGTERM', () => server.forceShutdown());
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(`127.0.0.1:${port}`);
});
