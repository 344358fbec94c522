/** Headers of an answer that is told bit by bit. nginx, and those who follow it, then hand on every byte at once. */
export const UNBUFFERED = { 'x-accel-buffering': 'no' };
