import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import { credentials, makeClientConstructor } from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unary } from '../support/grpc.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { frame, rawCall, rawSession, rawStream } from '../support/raw-grpc.ts';

const CHECK = '/grpc.health.v1.Health/Check';
const WATCH = '/grpc.health.v1.Health/Watch';
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
/** Asks for the files that describe the service. */
const NAME = Buffer.from('plantstore.v1.PlantStoreService');
const QUESTION = frame(Buffer.concat([Buffer.from([0x22, NAME.length]), NAME]));

let service: LocalService;
beforeAll(async () => {
  service = await startLocalService({ REQUEST_TIMEOUT: '1', IDLE_TIMEOUT: '3' });
});
afterAll(() => service.stop());

const begin = (session: ClientHttp2Session, path: string) => rawStream(session, { ':path': path });

/** The google.rpc.Code that a call ends with, in its headers or its trailers. */
async function codeOf(stream: ClientHttp2Stream): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  for (const event of ['response', 'trailers'])
    stream.on(event, (fields) => fields['grpc-status'] !== undefined && resolve(Number(fields['grpc-status'])));
  stream.resume();
  return promise;
}

describe("gRPC's own services", () => {
  test('take messages of 64 KiB, and refuse longer ones at their length, before they come', async () => {
    const session = rawSession(service.grpcUrl);
    // An unknown field, and no service of that name.
    const unknown = Buffer.concat([Buffer.from([0x7a, 0xfc, 0xff, 0x03]), Buffer.alloc(65_532)]);
    expect(await rawCall(session, { ':path': CHECK }, frame(unknown))).toMatchObject({ status: 0 });
    const announced = begin(session, CHECK);
    announced.write(frame(Buffer.alloc(1), { length: 65_537 }));
    expect(await codeOf(announced)).toBe(8);
    session.destroy();
  });

  test.each([CHECK, WATCH])('end what does not arrive in time: %s', async (path) => {
    const session = rawSession(service.grpcUrl);
    const stream = begin(session, path);
    expect(await codeOf(stream)).toBe(4);
    if (!stream.closed) await once(stream, 'close');
    session.destroy();
  });

  test.each([CHECK, WATCH, REFLECTION])(
    'count a message that cannot be read as its caller’s fault: %s',
    async (path) => {
      const session = rawSession(service.grpcUrl);
      expect(await rawCall(session, { ':path': path }, frame(Buffer.from([0xff])))).toMatchObject({ status: 3 });
      session.destroy();
      const { samples } = (await service.metrics()).get('plantstore_request_duration_seconds')!;
      const statuses = samples.filter(({ labels }) => labels.route === path).map(({ labels }) => labels.status);
      expect(statuses).toContain('INVALID_ARGUMENT');
      expect(statuses).not.toContain('INTERNAL');
    },
  );

  test('are told of in the metrics', async () => {
    const health = new (makeClientConstructor(healthService, 'health'))(service.grpcUrl, credentials.createInsecure());
    await unary(health, 'check', {});
    health.close();
    const metrics = await service.metrics();
    const { samples } = metrics.get('plantstore_request_duration_seconds')!;
    expect(samples.filter(({ labels }) => labels.route === CHECK && labels.status === 'OK')).not.toEqual([]);
  });

  test('let as many watch as there are streams on many connections, and beside them others are served', async () => {
    const sessions = Array.from({ length: 60 }, () => rawSession(service.grpcUrl));
    const watch = (session: ClientHttp2Session) => {
      const stream = begin(session, WATCH);
      stream.end(frame(Buffer.alloc(0)));
      return Promise.race([once(stream, 'data').then(() => 'watches' as const), codeOf(stream)]);
    };
    for (const session of sessions) {
      const watches = await Promise.all(Array.from({ length: 15 }, () => watch(session)));
      expect(new Set(watches)).toEqual(new Set(['watches']));
      expect(await rawCall(session, { ':path': CHECK }, frame(Buffer.alloc(0)))).toMatchObject({ status: 0 });
    }
    const metrics = await service.metrics();
    expect(metrics.get('plantstore_requests_in_flight')!.samples[0]!.value).toBe(0);
    for (const session of sessions) session.destroy();
  });
});

describe('reflection', () => {
  test('answers 64 questions of a stream', async () => {
    const session = rawSession(service.grpcUrl);
    const stream = begin(session, REFLECTION);
    let bytes = 0;
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    const code = codeOf(stream);
    for (let asked = 0; asked < 1_000; asked++) stream.write(QUESTION, () => {});
    expect(await code).toBe(8);
    expect(bytes).toBeLessThan(64 * 64 * 1_024);
    session.destroy();
  });

  test('ends the stream of who does not take the answers, and leaves its connection alone', async () => {
    const session = rawSession(service.grpcUrl);
    const stream = begin(session, REFLECTION);
    stream.pause();
    stream.end(Buffer.concat(Array.from({ length: 60 }, () => QUESTION)));
    await once(stream, 'close');
    expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
    expect(await rawCall(session, { ':path': CHECK }, frame(Buffer.alloc(0)))).toMatchObject({ status: 0 });
    session.destroy();
  });

  test('ends the stream of who takes no answer, also once nothing more is asked', { timeout: 15_000 }, async () => {
    const session = rawSession(service.grpcUrl);
    await new Promise<unknown>((resolve) => session.settings({ initialWindowSize: 0 }, resolve));
    const stream = begin(session, REFLECTION);
    stream.write(QUESTION);
    await once(stream, 'response');
    stream.end();
    await once(stream, 'close');
    expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
    session.destroy();
  });

  test('ends a stream on which nothing more is asked, which holds no permit, and leaves its connection alone', async () => {
    const session = rawSession(service.grpcUrl);
    const stream = begin(session, REFLECTION);
    stream.write(QUESTION);
    await once(stream, 'data');
    expect(await service.metric('plantstore_requests_in_flight')).toBe(0);
    expect(await service.metric('plantstore_requests_held_bytes')).toBeGreaterThan(64 * 1_024);
    expect(await codeOf(stream)).toBe(0);
    expect(await rawCall(session, { ':path': CHECK }, frame(Buffer.alloc(0)))).toMatchObject({ status: 0 });
    session.destroy();
  });
});
