import type { TestProject } from 'vitest/node';
import { ReplicaSet } from './replica-set.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URI of the replica set for all suites of the run, without a database; undefined if there is none. */
    mongodbUri: string | undefined;
  }
}

/**
 * Starts one replica set for the whole run, which static checks alone do not need. Without a mongod, says so once; with
 * CI set, fails.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (project.vitest.projects.every(({ name }) => name === 'check')) return undefined;
  const given = process.env.MONGODB_TEST_URI;
  if (given !== undefined) {
    project.provide('mongodbUri', given);
    return undefined;
  }
  try {
    const set = await ReplicaSet.start(1);
    project.provide('mongodbUri', set.uri(''));
    return () => set.remove();
  } catch (error) {
    if (process.env.CI === 'true') throw error;
    console.error(`\nNOT TESTED: all that needs MongoDB, since it cannot be started: ${(error as Error).message}\n`);
    project.provide('mongodbUri', undefined);
    return undefined;
  }
}
