import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

test.each([
  ['package-lock.json', /^ {2}"version": "([^"]+)"/m],
  ['client/package.json', /"version": "([^"]+)"/],
  ['client/README.md', /plantstore-client-(\S+)\.tgz/],
  ['CHANGELOG.md', /^## (\d\S*)/m],
  ['deploy/kubernetes/statefulset.yaml', /image: plantstore:(\S+)/],
  ['deploy/kubernetes/upgrade.yaml', /image: plantstore:(\S+)/],
  ['deploy/kubernetes/verify.yaml', /image: plantstore:(\S+)/],
  ['deploy/kubernetes/kustomization.yaml', /newTag: (\S+)/],
])('%s has the version of package.json', (file, pattern) => {
  expect(pattern.exec(readFileSync(file, 'utf8'))?.[1]).toBe(version);
});
