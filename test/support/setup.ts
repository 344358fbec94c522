import { configureGlobal } from 'fast-check';
import { expect } from 'vitest';

// fast-check prints the seed of a failed property; FAST_CHECK_SEED repeats it.
const given = process.env.FAST_CHECK_SEED;
configureGlobal({ seed: given ? Number(given) : Date.now() ^ (Math.random() * 2 ** 32) });

// Compares bytes by content, because a hash may be a Buffer or a plain Uint8Array.
expect.addEqualityTesters([
  (a: unknown, b: unknown) =>
    a instanceof Uint8Array && b instanceof Uint8Array ? Buffer.compare(a, b) === 0 : undefined,
]);
