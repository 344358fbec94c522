import { type DescMessage, type DescMethod, type DescService, toBinary } from '@bufbuild/protobuf';
import type { MethodDefinition, Server, ServiceDefinition } from '@grpc/grpc-js';
import { PlantStoreError } from '../../domain/errors.ts';
import { derivedOnce } from '../../plants/view.ts';
import { readMessage } from '../call-limits.ts';

/** Where services are added. */
export type Registry = Pick<Server, 'addService'>;

/** The definition of a service for grpc-js, made from its descriptor. Methods have their local names. */
export const definitionOf = (service: DescService): ServiceDefinition =>
  Object.fromEntries(service.methods.map((method) => [method.localName, methodDefinition(method)]));

/** The definition for a server that reads and writes encoded messages. */
export const serverDefinitionOf = (service: DescService): ServiceDefinition =>
  Object.fromEntries(
    service.methods.map((method) => [
      method.localName,
      { ...methodDefinition(method), requestDeserialize: asIs, responseSerialize: asIs },
    ]),
  );

const asIs = (bytes: Buffer): Buffer => bytes;

const UNREADABLE = new PlantStoreError(
  'MALFORMED_REQUEST',
  'the message must be the one of this method, in protobuf binary',
);

/**
 * A definition of one of gRPC's own services, whose methods get an error in the place of a message that cannot be read.
 * The library would end the call as by a fault of this service.
 */
export const withUnreadable = (definition: ServiceDefinition): ServiceDefinition =>
  Object.fromEntries(
    Object.entries(definition).map(([name, method]) => [
      name,
      { ...method, requestDeserialize: (bytes: Buffer) => orUnreadable(() => method.requestDeserialize(bytes)) },
    ]),
  );

function orUnreadable(read: () => object): object {
  try {
    return read();
  } catch {
    return UNREADABLE;
  }
}

function methodDefinition({ parent, name, methodKind, input, output }: DescMethod): MethodDefinition<object, object> {
  return {
    path: `/${parent.typeName}/${name}`,
    requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
    responseStream: methodKind === 'server_streaming' || methodKind === 'bidi_streaming',
    requestSerialize: serializer(input),
    requestDeserialize: deserializer(input),
    responseSerialize: serializer(output),
    responseDeserialize: deserializer(output),
  };
}

/** An encoder of messages. A frozen message is sent more than once, so its bytes are kept. */
export function serializer(desc: DescMessage): (message: object) => Buffer {
  const serialize = (message: object) => {
    const { buffer, byteOffset, byteLength } = toBinary(desc, message as never);
    return Buffer.from(buffer, byteOffset, byteLength);
  };
  const serializeOnce = derivedOnce(serialize);
  return (message) => (Object.isFrozen(message) ? serializeOnce(message) : serialize(message));
}

const deserializer = (desc: DescMessage) => (bytes: Buffer) => readMessage(desc, bytes);
