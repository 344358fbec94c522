import { readFileSync, realpathSync } from 'node:fs';
import { relative } from 'node:path';
import { expect, test } from 'vitest';

interface LockedPackage {
  readonly dev?: true;
  readonly integrity?: string;
  readonly hasInstallScript?: true;
}

const { packages }: { packages: Record<string, LockedPackage> } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const { allowScripts }: { allowScripts: Record<string, boolean> } = JSON.parse(readFileSync('package.json', 'utf8'));
const production = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);

test('every package that runs in production has a hash', () => {
  expect(production.length).toBeGreaterThan(50);
  expect(production.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path)).toEqual([]);
});

test('no package that runs in production may run a script of its own when it is installed', () => {
  const scripts = production
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
  expect(scripts.filter((name) => allowScripts[name] !== false)).toEqual([]);
});

// A script that installs something else would have put it there without a hash.
test('the Node that runs this, when it came with the packages, is one of them', () => {
  const path = relative(realpathSync('node_modules'), realpathSync(process.execPath));
  if (path.startsWith('..')) return;
  expect(path).toBe(`node-${process.platform}-${process.arch}/bin/node`);
  expect(packages).toHaveProperty([`node_modules/node-${process.platform}-${process.arch}`, 'integrity']);
});
