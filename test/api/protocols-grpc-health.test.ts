import { on, once } from 'node:events';
import {
  create,
  createFileRegistry,
  type DescMessage,
  type DescService,
  fromBinary,
  getOption,
} from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import {
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  makeClientConstructor,
  status,
} from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { field_behavior } from '../../gen/google/api/field_behavior_pb.ts';
import { NewPlantSchema } from '../../gen/plantstore/v1/plant_pb.ts';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { httpRulesOf } from '../../src/transport/rest/http-rule.ts';
import { GrpcApp, type GrpcClient, unary } from '../support/grpc.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';

const PLANT_STORE = PlantStoreService.typeName;

let service: LocalService;
beforeAll(async () => {
  service = await startLocalService();
});
afterAll(() => service.stop());

const healthClient = (address: string): GrpcClient =>
  new (makeClientConstructor(healthService, 'health'))(address, credentials.createInsecure());

describe('health', () => {
  test.each(['', PLANT_STORE])('says that %j serves, and asks for no token', async (name) => {
    expect(await unary(healthClient(service.grpcUrl), 'check', { service: name })).toEqual({ status: 'SERVING' });
  });

  test('knows of all services, and of no others', async () => {
    const client = healthClient(service.grpcUrl);
    expect(await unary(client, 'list', {})).toMatchObject({
      statuses: { '': { status: 'SERVING' }, [PLANT_STORE]: { status: 'SERVING' } },
    });
    await expect(unary(client, 'check', { service: 'plants' })).rejects.toMatchObject({ code: status.NOT_FOUND });
    const watch: ClientReadableStream<unknown> = client.Watch!({ service: 'plants' });
    watch.on('error', () => {});
    expect(await once(watch, 'data')).toEqual([{ status: 'SERVICE_UNKNOWN' }]);
    watch.cancel();
  });

  test('follows readiness, and tells who watches', async () => {
    let ready = false;
    await using app = await GrpcApp.start({}, { isReady: () => ready });
    const client = healthClient(app.address);
    const watch: ClientReadableStream<unknown> = client.Watch!({ service: PLANT_STORE });
    const news = on(watch, 'data', { close: ['end'] });
    expect((await news.next()).value).toEqual([{ status: 'NOT_SERVING' }]);
    expect(await unary(client, 'check', {})).toEqual({ status: 'NOT_SERVING' });
    ready = true;
    expect(await unary(client, 'check', {})).toEqual({ status: 'SERVING' });
    expect((await news.next()).value).toEqual([{ status: 'SERVING' }]);
    ready = false;
    expect((await news.next()).value).toEqual([{ status: 'NOT_SERVING' }]);
  });

  test('says so when the server drains, and holds up nothing', async () => {
    await using app = await GrpcApp.start({});
    const watch: ClientReadableStream<unknown> = healthClient(app.address).Watch!({ service: '' });
    const news = on(watch, 'data', { close: ['end'] });
    expect((await news.next()).value).toEqual([{ status: 'SERVING' }]);
    await app.server.drain(60_000);
    expect((await news.next()).value).toEqual([{ status: 'NOT_SERVING' }]);
    expect((await news.next()).done).toBe(true);
  });
});

describe.each(['v1', 'v1alpha'])('reflection %s', (version) => {
  /** Calls the reflection service with one request, written by hand, and returns the fields of the answer. */
  async function reflect(field: number, value: string): Promise<Map<number, Uint8Array>> {
    const identity = (bytes: Buffer) => bytes;
    const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
    const method = { path, requestStream: true, responseStream: true };
    const codec = {
      requestSerialize: identity,
      requestDeserialize: identity,
      responseSerialize: identity,
      responseDeserialize: identity,
    };
    const Client = makeClientConstructor({ info: { ...method, ...codec } }, 'reflection');
    const call: ClientDuplexStream<Buffer, Buffer> = new Client(service.grpcUrl, credentials.createInsecure()).info!();
    call.end(Buffer.from(new BinaryWriter().tag(field, WireType.LengthDelimited).string(value).finish()));
    const [answer] = await once(call, 'data');
    return fieldsOf(answer)[0]!;
  }

  /** Fields of a message, all of them length-delimited: the last of each number, and all in turn. */
  function fieldsOf(message: Uint8Array): [Map<number, Uint8Array>, Uint8Array[]] {
    const reader = new BinaryReader(message);
    const last = new Map<number, Uint8Array>();
    const all: Uint8Array[] = [];
    while (reader.pos < reader.len) {
      const [number] = reader.tag();
      const bytes = reader.bytes();
      last.set(number, bytes);
      all.push(bytes);
    }
    return [last, all];
  }

  test('lists the services', async () => {
    const answer = (await reflect(7, '*')).get(6)!;
    const names = fieldsOf(answer)[1].map((entry) => Buffer.from(fieldsOf(entry)[0].get(1)!).toString());
    expect(names).toEqual(expect.arrayContaining(['grpc.health.v1.Health', PLANT_STORE]));
  });

  test.each([
    [4, 'plantstore.v1.Nothing'],
    [4, 'constructor'],
    [4, '__proto__'],
    [3, 'toString'],
  ])('says that there is no file (of field %d: %s)', async (field, name) => {
    const reader = new BinaryReader((await reflect(field, name)).get(7)!);
    reader.tag();
    expect(reader.int32()).toBe(status.NOT_FOUND);
  });

  test.each([PLANT_STORE, 'grpc.health.v1.Health', 'google.rpc.ErrorInfo'])('describes %s', async (name) => {
    const answer = (await reflect(4, name)).get(4)!;
    const files = new Map<string, FileDescriptorProto>();
    const take = (bytes: Uint8Array) => {
      const file = fromBinary(FileDescriptorProtoSchema, bytes);
      files.set(file.name, file);
      return file;
    };
    fieldsOf(answer)[1].forEach(take);
    for (const { dependency } of files.values())
      for (const path of dependency.filter((path) => !files.has(path)))
        fieldsOf((await reflect(3, path)).get(4)!)[1].forEach(take);
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [...files.values()].reverse() }));
    expect(registry.get(name)).toBeDefined();
    if (name !== PLANT_STORE) return;
    const described = registry.getService(PLANT_STORE)!;
    expect(described.methods.map((method) => method.name)).toEqual(PlantStoreService.methods.map(({ name }) => name));
    // The options too: the rules of REST, and which fields a caller must set.
    const rulesOf = (one: DescService) => httpRulesOf(one).map(({ verb, path }) => [verb, path]);
    expect(rulesOf(described)).toEqual(rulesOf(PlantStoreService));
    const behaviorOf = ({ fields }: DescMessage) =>
      fields.map((field) => [field.name, getOption(field, field_behavior)]);
    expect(behaviorOf(registry.getMessage(NewPlantSchema.typeName)!)).toEqual(behaviorOf(NewPlantSchema));
  });
});
