// Builds the console: console/src becomes one script and one style sheet in console/dist, named by what is in them, and the page
// that loads them. Runs after `npm ci`, on whatever Node there is, and as `npm run console`.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const source = fileURLToPath(new URL('src/', import.meta.url));
const target = fileURLToPath(new URL('dist/', import.meta.url));
const root = fileURLToPath(new URL('../', import.meta.url));

// With production dependencies alone there is nothing to build with: the service then says that there is no console.
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
  rmSync(target, { recursive: true, force: true });
  mkdirSync(join(target, 'assets'), { recursive: true });
  let page = readFileSync(join(source, 'index.html'), 'utf8');
  for (const { path, contents } of outputFiles) {
    writeFileSync(path, contents);
    writeFileSync(`${path}.br`, brotliCompressSync(contents));
    writeFileSync(`${path}.gz`, gzipSync(contents, { level: 9 }));
    page = page.replace(path.endsWith('.css') ? '%style%' : '%script%', `/console/assets/${basename(path)}`);
  }
  writeFileSync(join(target, 'index.html'), page);
  writeFileSync(join(target, 'licences.txt'), licencesOf(Object.keys(metafile.inputs)));
}

/** The packages that are in the script, each with its licence, which goes wherever the script goes. */
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
