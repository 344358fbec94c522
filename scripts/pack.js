// Builds the code of the installed package in dist/. Node strips no types under node_modules, so everything is
// compiled.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const DIST = 'dist';
const SERVICE = join(DIST, 'service');

const npx = (...args) => execFileSync('npx', args, { stdio: 'inherit' });

rmSync(DIST, { recursive: true, force: true });
// The export plantstore/client, which stays for one release beside the package plantstore-client.
npx('tsc', '-p', 'client', '--outDir', join(DIST, 'client'));
npx('tsc', '-p', 'scripts/tsconfig.pack.json');

// npm has already run `prepare`, which builds the console.
cpSync('console/dist', join(SERVICE, 'console/dist'), { recursive: true });
cpSync('package.json', join(SERVICE, 'package.json'));
cpSync('gen/openapi.json', join(SERVICE, 'gen/openapi.json'));
cpSync('docs/configuration.md', join(SERVICE, 'docs/configuration.md'));

// The packages that are installed with it, from the lock file: a bill of materials, and the licence of each.
const { devDependencies: _, ...manifest } = JSON.parse(readFileSync('package.json', 'utf8'));
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const installed = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && dev !== true);

/** `npm sbom --omit dev` leaves out what development packages need as well, and names the package by its folder. */
function billOfMaterials() {
  const parent = mkdtempSync(join(tmpdir(), 'sbom-'));
  const folder = join(parent, manifest.name);
  mkdirSync(folder);
  const { devDependencies: __, ...root } = lock.packages[''];
  const packages = { '': root, ...Object.fromEntries(installed) };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ ...lock, packages }));
  try {
    const options = { cwd: folder, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 };
    return execFileSync('npm', ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'], options);
  } finally {
    rmSync(parent, { recursive: true });
  }
}

mkdirSync(DIST, { recursive: true });
writeFileSync(join(DIST, 'sbom.cdx.json'), billOfMaterials());
const licences = installed.map(
  ([path, { version, license }]) => `${path.split('node_modules/').at(-1)} ${version}: ${license}\n`,
);
writeFileSync(join(DIST, 'licences.txt'), [...new Set(licences)].sort().join(''));
