// Builds the pages /console and /docs in console/dist, and their scripts and style sheets, which are named by their content. Runs after `npm ci`, on any Node, and as `npm run console`.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import Fastify from 'fastify';

const source = fileURLToPath(new URL('src/', import.meta.url));
const target = fileURLToPath(new URL('dist/', import.meta.url));
const root = fileURLToPath(new URL('../', import.meta.url));

const SCALAR = '@scalar/fastify-api-reference';
/** A quality of brotli that takes a second for 5 MB, where the best takes 17. */
const QUICK = 9;

// Production dependencies contain no bundler. The service then says that the console is not built.
const esbuild = await import('esbuild').catch(() => undefined);
if (esbuild === undefined) console.error('esbuild is not installed, so the console is not built');
else await build(esbuild);

async function build({ build: bundle }) {
  const { outputFiles, metafile } = await bundle({
    entryPoints: ['main.tsx', 'style.css', 'docs/start.ts', 'docs/docs.css'].map((path) => join(source, path)),
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
  const scalar = await scalarScript();
  const hash = createHash('sha256').update(scalar).digest('hex').slice(0, 8);
  const assets = [
    ...outputFiles.map(({ path, contents }) => ({ name: basename(path), contents })),
    { name: `scalar-${hash}.js`, contents: scalar },
  ];
  for (const { name, contents } of assets) {
    const path = join(target, 'assets', name);
    // Its content is that of its name.
    if (!existsSync(path)) replaceWithCompressed(path, contents);
  }
  for (const page of ['index.html', 'docs/docs.html']) {
    const text = readFileSync(join(source, page), 'utf8').replace(/%(\w+)(\.\w+)%/g, (_, stem, extension) => {
      const { name } = assets.find((asset) => asset.name.startsWith(`${stem}-`) && asset.name.endsWith(extension));
      return `/console/assets/${name}`;
    });
    replaceWithCompressed(join(target, basename(page)), Buffer.from(text));
  }
  replace(join(target, 'licences.txt'), licencesOf([...Object.keys(metafile.inputs), `node_modules/${SCALAR}/`]));
  const built = new Set(assets.flatMap(({ name }) => [name, `${name}.br`, `${name}.gz`]));
  for (const name of readdirSync(join(target, 'assets'))) if (!built.has(name)) rmSync(join(target, 'assets', name));
}

/** The viewer of /docs, as its package serves it: the script is in no file of its own. */
async function scalarScript() {
  const app = Fastify();
  await app.register(import(SCALAR), { routePrefix: '/docs', configuration: { content: {} } });
  const { rawPayload } = await app.inject('/docs/js/scalar.js');
  await app.close();
  return rawPayload;
}

/** Writes a file and its compressed forms, which come first: whoever finds the file finds them too. */
function replaceWithCompressed(path, contents) {
  const quality = contents.length > 1_000_000 ? QUICK : constants.BROTLI_MAX_QUALITY;
  replace(`${path}.br`, brotliCompressSync(contents, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }));
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
