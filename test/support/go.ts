import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './run.ts';
import { cached, orUntested } from './tools.ts';

const SOURCES = ['main.go', 'go.mod', 'go.sum'];

/** The path of a Go program, built from the module in a folder; undefined without Go or the modules that it needs. */
export const buildGo = (folder: string): Promise<string | undefined> =>
  orUntested('readers in Go, since they cannot be built', async () => {
    const source = createHash('sha256');
    for (const name of SOURCES) source.update(await readFile(join(folder, name)));
    return cached(`go-${source.digest('hex').slice(0, 16)}`, async (draft) => {
      const { code, stderr } = await run('go', ['build', '-C', folder, '-o', draft, '.'], environment());
      if (code !== 0) throw new Error(stderr);
    });
  });

const environment = (): Record<string, string> =>
  Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined));
