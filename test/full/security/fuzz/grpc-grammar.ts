import type { OutgoingHttpHeaders } from 'node:http2';
import fc from 'fast-check';
import { enveloped } from './http-grammar.ts';
import { binaryOf, callArbitrary, mutationArbitrary, seldom, strangeArbitrary } from './values.ts';

/** A call over gRPC, or something like one. */
export interface GrpcRequest {
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

const oddHeaderArbitrary = fc.oneof(
  strangeArbitrary.map((value) => ({ 'grpc-timeout': ascii(value) })),
  strangeArbitrary.map((value) => ({ 'x-request-id': ascii(value) })),
  strangeArbitrary.map((value) => ({ 'idempotency-key': ascii(value) })),
  strangeArbitrary.map((value) => ({ 'fern-bin': ascii(value) })),
  fc.constantFrom<OutgoingHttpHeaders>(
    ...[
      { 'grpc-timeout': '1n' },
      { 'grpc-timeout': '99999999H' },
      { 'grpc-encoding': 'gzip' },
      { 'grpc-encoding': 'x' },
    ],
    ...[{ 'content-type': 'application/json' }, { 'content-type': 'application/grpc+json' }, { ':method': 'GET' }],
    ...[{ ':path': '/' }, { ':path': '/plantstore.v1.PlantStoreService/__proto__' }],
    ...[
      { ':path': '/grpc.health.v1.Health/Check' },
      { ':path': '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo' },
    ],
  ),
);

/** Calls with one of these tokens, one like them, or none. */
export const grpcArbitrary = (tokens: readonly string[]): fc.Arbitrary<GrpcRequest> =>
  fc
    .record({
      call: callArbitrary,
      token: fc.oneof(
        { weight: 10, arbitrary: fc.constantFrom(...tokens) },
        { weight: 1, arbitrary: strangeArbitrary.map(ascii) },
      ),
      odd: seldom(oddHeaderArbitrary, 3),
      inside: seldom(mutationArbitrary, 5),
      outside: seldom(mutationArbitrary, 10),
    })
    .map(({ call: { method, sent }, token, odd, inside, outside }) => {
      const message = inside?.(binaryOf(sent)) ?? binaryOf(sent);
      const body = enveloped(message);
      const headers = { ':path': `/${method}`, authorization: `Bearer ${token}`, ...odd };
      return { headers, body: outside?.(body) ?? body };
    });

const ascii = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '');

/** A frame of HTTP/2 whose length may be a lie. */
const frameArbitrary = fc
  .record({
    payload: fc.uint8Array({ maxLength: 64 }),
    lie: seldom(fc.nat(0xffffff), 8),
    type: fc.integer({ min: 0, max: 12 }),
    flags: fc.constantFrom(0, 1, 4, 5, 8, 32, 255),
    stream: fc.oneof(fc.constantFrom(0, 1, 2, 3, 5), fc.nat(0x7fffffff)),
  })
  .map(({ payload, lie, type, flags, stream }) => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(lie ?? payload.length, 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(flags, 4);
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, payload]);
  });

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const SETTINGS = Buffer.alloc(9, 0).fill(4, 3, 4);

/** What a client of HTTP/2 may write on a connection: the beginning of one, and frames that mean nothing. */
export const framesArbitrary: fc.Arbitrary<Buffer> = fc
  .tuple(fc.array(frameArbitrary, { maxLength: 8 }), seldom(mutationArbitrary, 3))
  .map(([frames, mutate]) => {
    const bytes = Buffer.concat([PREFACE, SETTINGS, ...frames]);
    return mutate?.(bytes) ?? bytes;
  });
