import fc from 'fast-check';
import { mutationArbitrary, seldom } from './mutations.ts';

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
