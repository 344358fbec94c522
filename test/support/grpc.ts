import { create, type DescService, fromBinary } from '@bufbuild/protobuf';
import {
  type ChannelCredentials,
  type ChannelOptions,
  type ClientReadableStream,
  credentials,
  Metadata,
  makeClientConstructor,
  type ServiceError,
} from '@grpc/grpc-js';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import type { Service } from '../../src/call.ts';
import { loadConfig } from '../../src/config.ts';
import { Admission } from '../../src/transport/admission/admission.ts';
import { definitionOf } from '../../src/transport/grpc/definition.ts';
import { createGrpcServer, type GrpcServerOptions } from '../../src/transport/grpc/server.ts';
import { collectLog } from './collected-log.ts';
import { UNEXPECTED } from './http-app.ts';
import { ALICE } from './principal.ts';

type GrpcServer = ReturnType<typeof createGrpcServer>;

/** The gRPC server on a free port, with the test's methods and callers without tokens. */
export class GrpcApp implements AsyncDisposable {
  readonly server: GrpcServer;
  readonly address: string;
  /** The lines that were logged. */
  readonly logs: readonly Record<string, unknown>[];

  private constructor(server: GrpcServer, address: string, logs: readonly Record<string, unknown>[]) {
    this.server = server;
    this.address = address;
    this.logs = logs;
  }

  /** Starts it. Methods that are not given fail. */
  static async start(
    methods: Service['methods'],
    options: Partial<GrpcServerOptions> = {},
    port = 0,
  ): Promise<GrpcApp> {
    const { logs, logger } = collectLog();
    const { limits } = loadConfig({});
    const admission = new Admission(limits, () => {});
    const server = createGrpcServer({
      services: [{ desc: PlantStoreService, methods: { ...UNEXPECTED, ...methods } }],
      authenticate: () => ALICE,
      limits,
      admission,
      logger,
      isReady: () => true,
      ...options,
    });
    return new GrpcApp(server, await server.listen('127.0.0.1', port), logs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.drain(0);
  }
}

/** A client of grpc-js. */
export type GrpcClient = InstanceType<ReturnType<typeof makeClientConstructor>>;

/** A client with its own connection. Its methods have local names and take the fields of a request. */
export function grpcClient(
  address: string,
  {
    desc = PlantStoreService,
    tls = credentials.createInsecure(),
    options = {},
  }: { desc?: DescService; tls?: ChannelCredentials; options?: ChannelOptions } = {},
): GrpcClient {
  const methods = Object.entries(definitionOf(desc)).map(([name, method], index) => {
    const { input } = desc.methods[index]!;
    return [
      name,
      { ...method, requestSerialize: (init: object) => method.requestSerialize(create(input, init as never)) },
    ];
  });
  const Client = makeClientConstructor(Object.fromEntries(methods), desc.typeName);
  return new Client(address, tls, { 'grpc.use_local_subchannel_pool': 1, ...options });
}

/** Metadata with a token. */
export function bearer(token: string): Metadata {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  return metadata;
}

/** Calls a unary method. Rejects with grpc-js's ServiceError. */
export const unary = <Response>(
  client: GrpcClient,
  method: string,
  request: object,
  metadata = new Metadata(),
  options: object = {},
): Promise<Response> =>
  new Promise((resolve, reject) => {
    client[method]!(request, metadata, options, (error: ServiceError | null, response: Response) =>
      error === null ? resolve(response) : reject(error),
    );
  });

/** How a stream ended, whatever it had before. */
export const endOf = (stream: ClientReadableStream<unknown>): Promise<ServiceError | undefined> =>
  new Promise((resolve) => {
    stream
      .on('end', () => resolve(undefined))
      .on('error', (error: ServiceError) => resolve(error))
      .resume();
  });

/** The google.rpc.Status in the trailers of a failed call. */
export const richStatus = ({ metadata }: ServiceError) =>
  fromBinary(StatusSchema, metadata.get('grpc-status-details-bin')[0] as Buffer);
