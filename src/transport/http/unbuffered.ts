/** Headers of an incremental response. nginx, and proxies with the same convention, then pass on every byte at once. */
export const UNBUFFERED = { 'x-accel-buffering': 'no' };
