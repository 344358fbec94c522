import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CleanClone } from '../../support/clean-clone.ts';
import { run } from '../../support/run.ts';

/** buf as a user has it, elsewhere than in the clone. */
const BIN = resolve('node_modules/.bin');
const buf = (...args: string[]) => run(join(BIN, 'buf'), args, { PATH: `${BIN}:${process.env.PATH}`, HOME: folder });

let clone: CleanClone;
let folder: string;
beforeAll(() => {
  clone = new CleanClone();
  folder = mkdtempSync(join(tmpdir(), 'plantstore-protos-'));
});
afterAll(() => {
  clone[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

const PROTOS = globSync('**/*.proto', { cwd: 'proto' }).sort();
const TEMPLATE = JSON.stringify({
  version: 'v2',
  plugins: [{ local: 'protoc-gen-es', out: 'gen', include_imports: true }],
});

/** A clone, its folder of protos, and its repository: inputs that buf takes. */
const inputs = () => [clone.path, clone.file('proto'), `${clone.file('.git')}#branch=main,subdir=proto`];

test('buf builds the protos of a clean clone', async () => {
  for (const input of inputs()) expect(await buf('build', input)).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('buf exports all of them, so that they build alone', async () => {
  for (const [index, input] of inputs().entries()) {
    const exported = join(folder, `exported${index}`);
    expect(await buf('export', input, '--output', exported)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(globSync('**/*.proto', { cwd: exported }).sort()).toEqual(PROTOS);
    expect(await buf('build', exported)).toEqual({ code: 0, stdout: '', stderr: '' });
  }
});

test('buf generates code from a clone, and from its repository as calling.md shows', async () => {
  const template = ['--template', TEMPLATE, '--output'];
  const generated = (output: string) =>
    globSync('**/*_pb.js', { cwd: join(output, 'gen') })
      .map((name) => name.replace('_pb.js', '.proto'))
      .sort();
  const [all, some] = [join(folder, 'all'), join(folder, 'some')];
  expect(await buf('generate', clone.path, ...template, all)).toMatchObject({ code: 0 });
  expect(generated(all)).toEqual(PROTOS);
  const repository = `${clone.file('.git')}#subdir=proto`;
  expect(await buf('generate', repository, '--path', 'plantstore/v1', ...template, some)).toMatchObject({ code: 0 });
  expect(generated(some)).toEqual(PROTOS.filter((name) => /^(plantstore\/v1|google\/api)\//.test(name)));
});
