import { hash } from 'node:crypto';
import { afterAll, beforeAll, expect, vi } from 'vitest';

/** What a file of tests may change in its process, and has to put back: the next one runs in the same process. */
const stateOf = () => ({
  directory: process.cwd(),
  umask: process.umask(),
  // Failures show no secrets.
  environment: Object.entries(process.env).map(([name, value]) => [name, hash('sha256', value!)]),
  globals: Object.entries(Object.getOwnPropertyDescriptors(globalThis))
    .filter(([name]) => !name.startsWith('__vitest'))
    .map(([name, { value, get }]) => [name, typeof value === 'function' ? value : get]),
  // Libraries listen to `exit` from their import on.
  listeners: process
    .eventNames()
    .filter((event) => event !== 'exit' && process.listenerCount(event) > 0)
    .map((event) => [event, process.listenerCount(event)])
    .sort(),
  // Servers, programs and threads that still run. Idle connections of clients are left to them.
  running: process.getActiveResourcesInfo().filter((name) => /Server|^Process|^Worker|Watch/.test(name)),
});

let before: ReturnType<typeof stateOf>;

beforeAll(() => {
  before = stateOf();
});

// Hooks of setup files are the last ones to run. What was closed is gone some turns later.
afterAll(() => vi.waitFor(() => expect(stateOf()).toEqual(before), { timeout: 5_000 }));
