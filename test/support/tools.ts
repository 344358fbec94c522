import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'plantstore-test');

/**
 * The path of a file or folder in the user's cache, which `make` makes at the path that it is given unless it is there.
 * Safe for concurrent processes: each makes its own, and the first whole one stays.
 */
export async function cached(name: string, make: (draft: string) => Promise<unknown>): Promise<string> {
  const path = join(CACHE, name);
  if (existsSync(path)) return path;
  await mkdir(CACHE, { recursive: true });
  const draft = `${path}.${randomUUID()}`;
  try {
    await make(draft);
    await rename(draft, path).catch((error) => {
      if (!existsSync(path)) throw error;
    });
    return path;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** What a search finds. If it fails, says on stderr what is not tested and returns undefined; with CI set, rejects. */
export async function orUntested<Found>(what: string, search: () => Promise<Found>): Promise<Found | undefined> {
  try {
    return await search();
  } catch (error) {
    if (process.env.CI === 'true') throw error;
    console.error(`\nNOT TESTED: ${what}: ${(error as Error).message}\n`);
    return undefined;
  }
}
