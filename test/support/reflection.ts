import { once } from 'node:events';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { type ClientDuplexStream, credentials, makeClientConstructor } from '@grpc/grpc-js';

/** Field of a ServerReflectionRequest for all services. */
const LIST_SERVICES = 7;

const identity = (bytes: Buffer) => bytes;

/** The response of gRPC reflection to a request for all services: a message that contains their names. */
export async function reflectedServices(address: string): Promise<string> {
  const method = {
    path: '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    requestStream: true,
    responseStream: true,
    requestSerialize: identity,
    requestDeserialize: identity,
    responseSerialize: identity,
    responseDeserialize: identity,
  };
  const client = new (makeClientConstructor({ info: method }, 'reflection'))(address, credentials.createInsecure());
  const call: ClientDuplexStream<Buffer, Buffer> = client.info!();
  call.end(Buffer.from(new BinaryWriter().tag(LIST_SERVICES, WireType.LengthDelimited).string('*').finish()));
  const [answer] = (await once(call, 'data')) as [Buffer];
  client.close();
  return answer.toString('latin1');
}
