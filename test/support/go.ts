import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { run } from './run.ts';

const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'plantstore-test');
const SOURCES = ['main.go', 'go.mod', 'go.sum'];

/**
 * The path of a Go program, built from the module in a folder and stored in the user's cache. Without Go or the modules
 * that it needs, says so on stderr and returns undefined; with CI set, rejects.
 */
export async function buildGo(folder: string): Promise<string | undefined> {
  const source = createHash('sha256');
  for (const name of SOURCES) source.update(await readFile(join(folder, name)));
  const program = join(CACHE, `go-${source.digest('hex').slice(0, 16)}`);
  if (existsSync(program)) return program;
  try {
    await mkdir(CACHE, { recursive: true });
    const draft = `${program}.${randomUUID()}`;
    const { code, stderr } = await run('go', ['build', '-C', folder, '-o', draft, '.'], environment());
    if (code !== 0) throw new Error(stderr);
    // Other processes may build it too, each in its own file.
    await rename(draft, program);
    return program;
  } catch (error) {
    if (process.env.CI === 'true') throw error;
    console.error(`\nNOT TESTED: readers in Go, since they cannot be built: ${(error as Error).message}\n`);
    return undefined;
  }
}

const environment = (): Record<string, string> =>
  Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined));
