import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Output folder of `npm run console`. */
const BUILT = fileURLToPath(new URL('../../../console/dist/', import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

/** A file whose name changes with its content, with its compressed form. */
export interface Asset {
  readonly type: string;
  readonly body: Buffer;
  readonly compressed: ReadonlyMap<string, Buffer>;
}

/** The built console. */
export interface ConsoleFiles {
  readonly page: Buffer;
  /** Entity tag of the page. */
  readonly tag: string;
  readonly assets: ReadonlyMap<string, Asset>;
}

/** Reads the console, a few hundred KB. Undefined: it is not built. */
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
