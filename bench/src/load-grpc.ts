import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type ChannelOptions, Client, credentials, Metadata } from '@grpc/grpc-js';
import type { Round } from './load.ts';
import type { Server } from './server.ts';

/** Unary calls of one method, each with a request made anew. */
export interface Calls<Input extends DescMessage = DescMessage> {
  readonly path: string;
  readonly input: Input;
  readonly make: () => MessageInitShape<Input>;
  readonly token: string;
  /** Whether the bytes of a response message are right. */
  readonly isRight: (response: Buffer) => boolean;
}

const OWN_CONNECTION: ChannelOptions = { 'grpc.use_local_subchannel_pool': 1 };

/** Keeps so many calls going on one connection for some seconds. Throws when one fails or is answered wrongly. */
export async function loadGrpc(
  server: Server,
  address: string,
  { path, input, make, token, isRight }: Calls,
  concurrency: number,
  seconds: number,
): Promise<Round> {
  const client = new Client(address, credentials.createInsecure(), OWN_CONNECTION);
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  const serialize = (request: object) => Buffer.from(toBinary(input, create(input, request as never)));
  const call = () =>
    new Promise<void>((resolve, reject) => {
      client.makeUnaryRequest(
        path,
        serialize,
        (bytes) => bytes,
        make(),
        metadata,
        (error, response) => {
          if (error !== null) reject(error);
          else if (!isRight(response!)) reject(new Error(`${server.name}: a wrong reply`));
          else resolve();
        },
      );
    });

  const times: number[] = [];
  const before = server.cpu();
  const start = performance.now();
  const end = start + seconds * 1_000;
  const caller = async () => {
    for (let at = performance.now(); at < end; ) {
      await call();
      const now = performance.now();
      times.push(now - at);
      at = now;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, caller));
  const cpu = (server.cpu() - before) / times.length;
  client.close();
  times.sort((a, b) => a - b);
  return {
    rate: times.length / ((performance.now() - start) / 1_000),
    p50: times[Math.floor(times.length / 2)]!,
    p99: times[Math.floor(times.length * 0.99)]!,
    cpu,
  };
}
