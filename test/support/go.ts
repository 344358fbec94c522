import { mkdtempSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from './run.ts';

/**
 * The program in a directory of Go's, built. Without Go or its modules says so on stderr and returns undefined; where CI is set it
 * rejects.
 */
export async function buildGo(directory: string): Promise<string | undefined> {
  const program = join(mkdtempSync(join(tmpdir(), 'plantstore-go-')), 'program');
  try {
    const { HOME = homedir(), GOPROXY, GOFLAGS, GOSUMDB } = process.env;
    const environment = Object.entries({ HOME, GOPROXY, GOFLAGS, GOSUMDB }).filter(([, value]) => value !== undefined);
    const args = ['-C', directory, 'build', '-o', program, '.'];
    const { code, stderr } = await run('go', args, Object.fromEntries(environment) as Record<string, string>);
    if (code !== 0) throw new Error(stderr);
    return program;
  } catch (error) {
    if (process.env.CI === 'true') throw error;
    console.error(`\nNOT TESTED: the verifier in Go, since it cannot be built: ${(error as Error).message}\n`);
    return undefined;
  }
}
