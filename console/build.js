// Builds the console: console/src becomes one script and one style sheet in console/dist, named by their content, and the page
// that loads them. Runs after `npm ci`, on any Node, and as `npm run console`.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const source = fileURLToPath(new URL('src/', import.meta.url));
const target = fileURLToPath(new URL('dist/', import.meta.url));
const root = fileURLToPath(new URL('../', import.meta.url));

// Production dependencies contain no bundler. The service then says that the console is not built.
const esbuild = await import('esbuild').catch(() => undefined);
if (esbuild === undefined) console.error('esbuild is not installed, so the console is not built');
else await build(esbuild);

async function build({ build: bundle }) {
  const { outputFiles, metafile } = await bundle({
    entryPoints: [join(source, 'main.tsx'), join(source, 'style.css')],
    outdir: join(target, 'assets'),
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    legalComments: 'none',
    metafile: true,
    absWorkingDir: root,
    tsconfig: fileURLToPath(new URL('tsconfig.json', import.meta.url)),
    write: false,
  });
  mkdirSync(join(target, 'assets'), { recursive: true });
  let page = readFileSync(join(source, 'index.html'), 'utf8');
  for (const { path, contents } of outputFiles) {
    replaceWithCompressed(path, contents);
    page = page.replace(path.endsWith('.css') ? '%style%' : '%script%', `/console/assets/${basename(path)}`);
  }
  replaceWithCompressed(join(target, 'index.html'), Buffer.from(page));
  replace(join(target, 'licences.txt'), licencesOf(Object.keys(metafile.inputs)));
  const built = new Set(outputFiles.flatMap(({ path }) => [path, `${path}.br`, `${path}.gz`]));
  for (const name of readdirSync(join(target, 'assets'))) {
    const path = join(target, 'assets', name);
    if (!built.has(path)) rmSync(path);
  }
}

/** Writes a file and its compressed forms, which come first: whoever finds the file finds them too. */
function replaceWithCompressed(path, contents) {
  replace(`${path}.br`, brotliCompressSync(contents));
  replace(`${path}.gz`, gzipSync(contents, { level: 9 }));
  replace(path, contents);
}

/** Writes a file in one step, because a service may be reading it. */
function replace(path, contents) {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, contents);
  renameSync(draft, path);
}

/** The packages in the script, each with its licence, which must accompany the script. */
function licencesOf(inputs) {
  const names = new Set(inputs.flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []));
  return [...names]
    .sort()
    .map((name) => {
      const folder = join(root, 'node_modules', name);
      const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const text = join(folder, 'LICENSE');
      return `${name} ${version}: ${license}\n\n${existsSync(text) ? readFileSync(text, 'utf8') : ''}`;
    })
    .join('\n\n');
}
