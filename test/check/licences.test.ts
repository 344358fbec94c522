import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface LockedPackage {
  readonly dev?: true;
  readonly license?: string;
}

/** Licences that let anybody use, change and pass on what they cover, with no demand on what is built with it. */
const PERMISSIVE = [
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
  'Unlicense',
  'CC0-1.0',
];

const isPermissive = (licence = 'none'): boolean =>
  licence
    .replaceAll(/[()]/g, '')
    .split(' AND ')
    .every((all) => all.split(' OR ').some((one) => PERMISSIVE.includes(one)));

test('what runs in production has permissive licences', () => {
  const { packages }: { packages: Record<string, LockedPackage> } = JSON.parse(
    readFileSync('package-lock.json', 'utf8'),
  );
  const production = Object.entries(packages).filter(([, { dev }]) => dev !== true);
  expect(production.length).toBeGreaterThan(50);
  expect(production.filter(([, { license }]) => !isPermissive(license)).map(([path]) => path)).toEqual([]);
});

test('what is in the script of the console has permissive licences, and they come with it', () => {
  const packages = readFileSync('console/dist/licences.txt', 'utf8')
    .matchAll(/^(@?[\w./-]+) \d+\.\d+\.\d+: (.+)$/gm)
    .toArray();
  expect(packages.map(([, name]) => name)).toEqual(expect.arrayContaining(['preact', '@bufbuild/protobuf']));
  expect(packages.filter(([, , licence]) => !isPermissive(licence)).map(([, name]) => name)).toEqual([]);
});

test.each(['GPL-3.0', 'MIT AND GPL-3.0', 'SSPL-1.0', undefined])('%s is none of them', (licence) =>
  expect(isPermissive(licence)).toBe(false),
);
