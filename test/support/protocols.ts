import { ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { BadRequestSchema, ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import type { Plant } from '../../gen/plantstore/v1/plant_pb.ts';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { client as httpClient, type Reply } from './http.ts';
import type { RunningService } from './running-service.ts';

/** A plant in a list. */
export interface ListedPlant {
  readonly name: string;
  readonly tag?: string;
}

/** How a call failed. */
export class CallError extends Error {
  /** google.rpc.Code number. */
  readonly code: number;
  /** Reason from the ErrorInfo; over REST from the header. */
  readonly reason: string | undefined;
  /** The invalid field; over REST only the message has it. */
  readonly field: string | undefined;

  constructor(message: string, code: number, reason?: string, field?: string) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.field = field;
  }
}

/** A client of one owner, for any protocol. Calls reject with CallError. */
export interface PlantsClient {
  create(id: bigint, name: string, tag?: string): Promise<{ plant: ListedPlant; position: bigint }>;
  /** `next` is empty if the list is complete. */
  list(limit?: number, cursor?: string): Promise<{ plants: ListedPlant[]; next: string }>;
  delete(id: bigint): Promise<{ position: bigint | undefined }>;
}

/** How a call failed. Rejects when it did not. */
export const failure = (call: Promise<unknown>): Promise<CallError> =>
  call.then(
    () => Promise.reject(new Error('the call succeeded')),
    (thrown) => thrown,
  );

/** Headers, or metadata. */
export type Headers = Readonly<Record<string, string>>;

/** One protocol. */
export interface Protocol {
  readonly name: 'REST' | 'Connect JSON' | 'Connect binary' | 'gRPC-Web' | 'gRPC';
  /** A client with an optional Authorization header, and further headers. */
  client(service: RunningService, authorization?: string, headers?: Headers): PlantsClient;
}

/** The protocols with a client of @connectrpc/connect-node, which the service's gRPC server does not use. */
export const TRANSPORTS: readonly {
  name: Exclude<Protocol['name'], 'REST'>;
  open(service: RunningService): Transport;
}[] = [
  {
    name: 'Connect JSON',
    open: ({ url }) => createConnectTransport({ baseUrl: url, httpVersion: '1.1', useBinaryFormat: false }),
  },
  {
    name: 'Connect binary',
    open: ({ url }) => createConnectTransport({ baseUrl: url, httpVersion: '1.1', useBinaryFormat: true }),
  },
  { name: 'gRPC-Web', open: ({ url }) => createGrpcWebTransport({ baseUrl: url, httpVersion: '1.1' }) },
  { name: 'gRPC', open: ({ grpcUrl }) => createGrpcTransport({ baseUrl: `http://${grpcUrl}` }) },
];

/** Every protocol. */
export const PROTOCOLS: readonly Protocol[] = [
  {
    name: 'REST',
    client: ({ url }, authorization, headers) =>
      restClient(url, { ...headers, ...(authorization && { authorization }) }),
  },
  ...TRANSPORTS.map(
    ({ name, open }): Protocol => ({
      name,
      client: (service, authorization, headers) =>
        rpcClient(open(service), { ...headers, ...(authorization && { authorization }) }),
    }),
  ),
];

function rpcClient(transport: Transport, headers: Headers): PlantsClient {
  const plants = createClient(PlantStoreService, transport);
  const options = { headers };
  const call = <Value>(value: Promise<Value>) => value.catch((thrown) => Promise.reject(callErrorOf(thrown)));
  return {
    create: async (id, name, tag) => {
      const plant = tag === undefined ? { id, name } : { id, name, tag };
      const { plant: created, position } = await call(plants.createPlant({ plant }, options));
      return { plant: listed(created!), position };
    },
    list: async (limit, cursor = '') => {
      const request = limit === undefined ? { cursor } : { cursor, limit };
      const { plants: page, nextCursor } = await call(plants.listPlants(request, options));
      return { plants: page.map(listed), next: nextCursor };
    },
    delete: async (id) => ({ position: (await call(plants.deletePlant({ id }, options))).position }),
  };
}

const listed = ({ name, tag }: Plant): ListedPlant => (tag === undefined ? { name } : { name, tag });

/** An error of a Connect client, with its details. */
export function callErrorOf(thrown: unknown): CallError {
  const error = ConnectError.from(thrown);
  const [info] = error.findDetails(ErrorInfoSchema);
  const [bad] = error.findDetails(BadRequestSchema);
  return new CallError(error.rawMessage, error.code, info?.reason, bad?.fieldViolations[0]?.field);
}

/** The reason for which a call of a Connect client fails. Rejects when it does not. */
export const reasonOf = async (call: Promise<unknown>): Promise<string | undefined> =>
  callErrorOf(await failure(call)).reason;

function restClient(url: string, headers: Headers): PlantsClient {
  const send = httpClient(url);
  const call = async (method: string, path: string, body?: string): Promise<Reply> => {
    const reply = await send(method, path, { headers, ...(body !== undefined && { body }) });
    if (reply.status < 400) return reply;
    const { error, message } = JSON.parse(reply.text);
    throw new CallError(message, error, reply.headers['plantstore-reason'] as string);
  };
  const positionOf = ({ headers: { 'plantstore-position': position } }: Reply) =>
    position === undefined ? undefined : BigInt(String(position));
  return {
    create: async (id, name, tag) => {
      const reply = await call('POST', '/plants', `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`);
      return { plant: JSON.parse(reply.text), position: positionOf(reply)! };
    },
    list: async (limit, cursor) => {
      const query = new URLSearchParams({
        ...(limit !== undefined && { limit: String(limit) }),
        ...(cursor && { cursor }),
      });
      const reply = await call('GET', `/plants?${query}`);
      return {
        plants: JSON.parse(reply.text),
        next: /[?&]cursor=([^&>]+)/.exec(String(reply.headers.link))?.[1] ?? '',
      };
    },
    delete: async (id) => ({ position: positionOf(await call('DELETE', `/plants/${id}`)) }),
  };
}
