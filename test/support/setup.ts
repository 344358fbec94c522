import { configureGlobal } from 'fast-check';
import { expect } from 'vitest';

// fast-check prints the seed of a failed property; FAST_CHECK_SEED runs with it again.
const given = process.env.FAST_CHECK_SEED;
configureGlobal({ seed: given ? Number(given) : Date.now() ^ (Math.random() * 2 ** 32) });

// Bytes are equal by content: a hash may come as a Buffer or as a plain Uint8Array.
expect.addEqualityTesters([
  (a: unknown, b: unknown) =>
    a instanceof Uint8Array && b instanceof Uint8Array ? Buffer.compare(a, b) === 0 : undefined,
]);
