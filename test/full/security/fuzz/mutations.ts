import fc from 'fast-check';

/** Once in `times`; undefined otherwise. */
export const seldom = <Value>(arbitrary: fc.Arbitrary<Value>, times: number): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ weight: times - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

/** Changes to bytes: cut short, a stretch left out, doubled or overwritten. */
export const mutationArbitrary: fc.Arbitrary<(bytes: Buffer) => Buffer> = fc
  .record({
    kind: fc.constantFrom('cut', 'leave out', 'double', 'overwrite', 'insert'),
    at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    length: fc.integer({ min: 1, max: 16 }),
    noise: fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
      fc.constantFrom('\r\n', '\r\n\r\n', '\n', '\0', ':', ' ', '\r\n0\r\n\r\n', 'GET / HTTP/1.1\r\n').map(Buffer.from),
    ),
  })
  .map(({ kind, at, length, noise }) => (bytes: Buffer) => {
    const start = Math.floor(at * bytes.length);
    const [before, stretch] = [bytes.subarray(0, start), bytes.subarray(start, start + length)];
    const after = bytes.subarray(start + length);
    if (kind === 'cut') return before;
    if (kind === 'leave out') return Buffer.concat([before, after]);
    if (kind === 'double') return Buffer.concat([before, stretch, stretch, after]);
    if (kind === 'overwrite') return Buffer.concat([before, noise, after]);
    return Buffer.concat([before, noise, stretch, after]);
  });
