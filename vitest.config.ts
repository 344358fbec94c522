import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { count } from './test/support/soak.ts';

// Worker threads of the code under test load it with Node alone, once for each verification. Half of a suite of
// verifications was their compilation.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/test');

/** The tests of a folder, without those of some folders in it. */
const project = (name: string, folder: string, exclude: readonly string[] = []) => ({
  extends: true as const,
  test: { name, include: [`${folder}/**/*.test.ts`], exclude: exclude.map((path) => `${path}/**`) },
});

export default defineConfig({
  test: {
    // The static checks of `npm run check`, the tier of `npm test`, and what `npm run test:full` has beside them.
    projects: [
      project('check', 'test/check'),
      project('first', 'test', ['test/check', 'test/full']),
      project('full', 'test/full'),
    ],
    // Once for all projects of a run.
    globalSetup: ['test/support/mongod-setup.ts', 'test/support/console-setup.ts'],
    setupFiles: ['test/support/setup.ts'],
    // Suites start services of their own, which need the cores too, and wait for leases and time limits meanwhile.
    pool: 'forks',
    maxWorkers: 4,
    // These are against hanging alone, so that a slow machine is no failure. A long run repeats up to a hundred times what
    // a short one does.
    testTimeout: count(240_000, 1_800_000),
    hookTimeout: 120_000,
    // As long as a browser's own waiting.
    expect: { poll: { timeout: 30_000 } },
    // CI reads the counts from the JSON report.
    reporters: process.env.CI ? ['default', ['json', { outputFile: 'node_modules/.vitest/report.json' }]] : ['default'],
  },
});
