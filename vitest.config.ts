import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { count } from './test/support/soak.ts';

// Worker threads of the code under test load it with Node alone, once for each verification. Half of a suite of
// verifications was their compilation.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/test');

/** Suites of the first tier that limit, measure, mock or replace what the others in the same process need. */
const ALONE = [
  'test/client/faults.test.ts',
  'test/simulation/**/*.test.ts',
  'test/store/sqlite-{full-disk,lock}.test.ts',
  'test/unit/tail.test.ts',
];

/** Suites of `test/store` for the second tier: `test/unit/audit-verify.test.ts` shows the same on memory. */
const SECOND = ['test/store/audit-sqlite.test.ts'];

/** Suites that take longest, below `test`, in the order in which they start. */
const LONGEST = [
  'full/store/mongo-log.test.ts',
  'full/interop/examples.test.ts',
  'full/fault/signing.test.ts',
  'store/sqlite-log.test.ts',
  'full/store/audit-mongo.test.ts',
  'full/api/audit-cli.test.ts',
  'full/store/erasure-mongo.test.ts',
  'full/api/witnesses.test.ts',
  'full/publisher/kafka.test.ts',
  'full/store/upgrade.test.ts',
  'full/console/proof.test.ts',
  'full/console/plants.test.ts',
  'full/console/accessible.test.ts',
  'store/erasure-sqlite.test.ts',
  'store/mongo.test.ts',
  'store/audit-sqlite.test.ts',
].map((path) => join(import.meta.dirname, 'test', path));

/** Starts the longest first: vitest knows the sizes of files alone, and one of few lines would run alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const longest = LONGEST.flatMap((path) => sorted.filter(({ moduleId }) => moduleId === path));
    return [...new Set([...longest, ...sorted])];
  }
}

/** The tests at some paths, without those at others. */
const project = (name: string, include: readonly string[], exclude: readonly string[] = []) => ({
  extends: true as const,
  test: { name, include: [...include], exclude: [...exclude] },
});

/** The same, where the files of a worker share its process and what they import. */
const shared = ({ test, ...rest }: ReturnType<typeof project>) => ({
  ...rest,
  test: { ...test, isolate: false, setupFiles: ['test/support/no-leaks.ts'] },
});

export default defineConfig({
  test: {
    // The static checks of `npm run check`, the tier of `npm test` in two parts, and what `npm run test:full` has beside
    // them.
    projects: [
      project('check', ['test/check/**/*.test.ts']),
      shared(project('first', ['test/**/*.test.ts'], ['test/{check,full}/**', ...ALONE, ...SECOND])),
      project('first-alone', ALONE),
      project('full', ['test/full/**/*.test.ts', ...SECOND]),
    ],
    // Once for all projects of a run.
    globalSetup: ['test/support/mongod-setup.ts', 'test/support/console-setup.ts'],
    setupFiles: ['test/support/setup.ts'],
    // Suites start services of their own, which need the cores too, and wait for leases and time limits meanwhile.
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
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
