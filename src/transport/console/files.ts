import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where `npm run console` puts what it builds. */
const BUILT = fileURLToPath(new URL('../../../console/dist/', import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

/** A file whose name changes with what is in it, and the same compressed. */
export interface Asset {
  readonly type: string;
  readonly body: Buffer;
  readonly compressed: ReadonlyMap<string, Buffer>;
}

/** The console as it was built. */
export interface ConsoleFiles {
  readonly page: Buffer;
  /** Of the page. */
  readonly tag: string;
  readonly assets: ReadonlyMap<string, Asset>;
}

/** Reads the console, some hundred KB; undefined where it is not built. */
export async function readConsole(folder: string = BUILT): Promise<ConsoleFiles | undefined> {
  const page = await readFile(join(folder, 'index.html')).catch(() => undefined);
  if (page === undefined) return undefined;
  const assets = new Map<string, Asset>();
  for (const name of await readdir(join(folder, 'assets'))) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const [body, br, gzip] = await Promise.all(
      ['', '.br', '.gz'].map((suffix) => readFile(join(folder, 'assets', name + suffix))),
    );
    const compressed = new Map([
      ['br', br!],
      ['gzip', gzip!],
    ]);
    assets.set(name, { type, body: body!, compressed });
  }
  return { page, tag: `"${hash('sha256', page, 'base64url').slice(0, 22)}"`, assets };
}
