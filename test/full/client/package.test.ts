import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readmeWithReference } from '../../../scripts/client-reference.ts';
import { run } from '../../support/run.ts';
import { startService } from '../../support/service.ts';

/** A folder in which the service's package is installed, but for its dependencies. */
let folder: string;
const INSTALLED = 'node_modules/plantstore';
/** An empty folder in which npm has installed the client's package. */
let alone: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plantstore-client-'));
  const packed = await run('npm', ['pack', '--pack-destination', folder], {
    HOME: folder,
    PATH: `node_modules/.bin:${process.env.PATH}`,
  });
  expect(packed, packed.stderr).toMatchObject({ code: 0 });
  const [archive] = globSync('*.tgz', { cwd: folder });
  mkdirSync(join(folder, INSTALLED), { recursive: true });
  const unpacked = ['-xzf', join(folder, archive!), '--strip-components=1', '-C', join(folder, INSTALLED)];
  expect(await run('tar', unpacked)).toMatchObject({ code: 0 });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
});

beforeAll(async () => {
  alone = mkdtempSync(join(tmpdir(), 'plantstore-client-alone-'));
  const environment = { HOME: alone, PATH: `${resolve('node_modules/.bin')}:${process.env.PATH}` };
  const packed = await run('npm', ['pack', './client', '--pack-destination', alone], environment);
  expect(packed, packed.stderr).toMatchObject({ code: 0 });
  writeFileSync(join(alone, 'package.json'), '{"type":"module"}');
  const [archive] = globSync('plantstore-client-*.tgz', { cwd: alone });
  const installed = await run('npm', ['install', '--offline', '--prefix', alone, join(alone, archive!)], environment);
  expect(installed, installed.stderr).toMatchObject({ code: 0 });
});

afterAll(() => {
  for (const made of [folder, alone]) rmSync(made, { recursive: true });
});

test("the client's package installs nothing else, has the service's version, and a reference of its code", () => {
  expect(readdirSync(join(alone, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
    'plantstore-client',
  ]);
  const versionOf = (path: string) => JSON.parse(readFileSync(path, 'utf8')).version;
  expect(versionOf(join(alone, 'node_modules/plantstore-client/package.json'))).toBe(versionOf('package.json'));
  expect(readFileSync('client/README.md', 'utf8')).toBe(readmeWithReference());
});

const PROGRAM = `
import { PlantAlreadyExistsError, PlantStore } from 'plantstore-client';

const store = new PlantStore({ url: process.env.STORE, token: process.env.TOKEN });
await store.add({ id: 9007199254740993n, name: 'Fern' });
try {
  await store.add({ id: 9007199254740993n, name: 'Fern' });
} catch (error) {
  console.log(error instanceof PlantAlreadyExistsError);
}
for await (const { id } of store.list()) console.log(id);
for await (const change of store.watch()) {
  if (change.type === 'added') console.log(change.plant.id);
  if (change.type === 'ready') break;
}
`;
const PRINTED = 'true\n9007199254740993n\n9007199254740993n\n';

/** Older than the Node that runs this, where there is one: it has no source text in JSON.parse. */
const OLDER = '/usr/bin/node';

test.each([process.execPath, OLDER].filter(existsSync))('the packed client runs in %s', async (node) => {
  await using service = await startService();
  writeFileSync(join(alone, 'program.js'), PROGRAM);
  const environment = { STORE: service.url, TOKEN: await service.token('alice') };
  const ended = await run(node, [join(alone, 'program.js')], environment);
  expect(ended).toEqual({ code: 0, stdout: PRINTED, stderr: '' });
  // For one release more, the service's package has it too.
  writeFileSync(join(folder, 'program.js'), PROGRAM.replace('plantstore-client', 'plantstore/client'));
  const former = await run(node, [join(folder, 'program.js')], { ...environment, TOKEN: await service.token('bob') });
  expect(former).toEqual({ code: 0, stdout: PRINTED, stderr: '' });
});

test.runIf(existsSync(OLDER))('many calls that share a signal make an older Node warn of nothing', async () => {
  const program = `
    import { createServer } from 'node:http';
    import { PlantStore } from 'plantstore-client';

    const server = createServer((_, response) => response.writeHead(503, { 'retry-after': '1' }).end());
    server.listen(0, '127.0.0.1', async () => {
      const store = new PlantStore({ url: 'http://127.0.0.1:' + server.address().port, token: 'x' });
      const stop = new AbortController();
      const { signal } = stop;
      const watch = async () => { for await (const { type } of store.watch({ signal })) console.log(type); };
      const calls = Array.from({ length: 12 }, () => [store.get(7n, { signal }), watch()]).flat();
      setTimeout(() => { globalThis.gc(); stop.abort(new Error('enough')); }, 900);
      console.log(new Set((await Promise.allSettled(calls)).map(({ reason }) => reason.message)));
      server.close();
    });
  `;
  writeFileSync(join(alone, 'program.js'), program);
  const ended = await run(OLDER, ['--expose-gc', join(alone, 'program.js')]);
  const stdout = `${'reset\n'.repeat(12)}Set(1) { 'enough' }\n`;
  expect(ended).toEqual({ code: 0, stdout, stderr: '' });
});

test('the bill of materials names the package, and has what the lock file installs with it', () => {
  const { metadata, components } = JSON.parse(readFileSync(join(folder, INSTALLED, 'dist/sbom.cdx.json'), 'utf8'));
  const { name, version } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(metadata.component).toMatchObject({ name, version, purl: `pkg:npm/${name}@${version}` });
  const { packages }: { packages: Record<string, { version: string; dev?: true }> } = JSON.parse(
    readFileSync('package-lock.json', 'utf8'),
  );
  const installed = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  const named = installed.map(([path, { version: of }]) => `${path.split('node_modules/').at(-1)} ${of}`);
  const listed = components.map((one: { name: string; version: string }) => `${one.name} ${one.version}`);
  expect(new Set(listed)).toEqual(new Set(named));
});

test('the packed service runs from where npm installs it, its threads and its console among it', async () => {
  for (const name of readdirSync('node_modules'))
    if (!existsSync(join(folder, 'node_modules', name)))
      symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name));
  const program = join(folder, INSTALLED, 'bin/plantstore.js');
  const settings = { DATA_DIR: join(folder, 'data'), PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0', NODE_ENV: 'test' };
  const service = spawn(process.execPath, [program, 'serve'], { env: settings, stdio: ['ignore', 'pipe', 'inherit'] });
  let lines = '';
  for await (const chunk of service.stdout) {
    lines += chunk;
    if (lines.includes('"protocol":"grpc"')) break;
  }
  const [, url] = /"protocol":"rest","address":"([^"]+)"/.exec(lines)!;
  expect((await fetch(`${url}/console`)).status).toBe(200);
  const verified = await run(process.execPath, [program, 'audit', 'verify'], settings);
  expect(verified.code, verified.stderr).toBe(0);
  expect(verified.stdout).toContain('read_model');
  const help = await run(process.execPath, [program, 'serve', '--help'], settings);
  expect(help, help.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('\n  DATA_DIR ') });
  const ended = once(service, 'exit');
  service.kill();
  expect(await ended).toEqual([0, null]);
});

test('its types tell a program that gives what may have lost digits as text', async () => {
  const check = async (program: string) => {
    writeFileSync(join(alone, 'program.ts'), program.replaceAll('process.env.STORE', "''"));
    const options = ['--strict', '--noEmit', '--target', 'es2024', '--module', 'nodenext', '--types', ''];
    return await run('node_modules/.bin/tsc', [...options, '--ignoreConfig', join(alone, 'program.ts')]);
  };
  expect(await check(PROGRAM.replaceAll('process.env.TOKEN', "''"))).toMatchObject({ code: 0, stdout: '' });
  const wrong = await check(PROGRAM.replaceAll('process.env.TOKEN', "''").replaceAll('9007199254740993n', "'7'"));
  expect(wrong.stdout).toMatch(/Type 'string' is not assignable to type 'number \| bigint'/);
});

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find(existsSync);
if (CHROMIUM === undefined) console.error('\nNOT TESTED: the client in a browser, since there is no chromium\n');

test.skipIf(CHROMIUM === undefined)('the packed client runs in a browser, on a page of another origin', async () => {
  const { promise: printed, resolve } = Promise.withResolvers<string>();
  let page = '';
  const server = createServer(async (request, response) => {
    if (request.url === '/') response.setHeader('content-type', 'text/html').end(page);
    else if (request.url === '/printed') resolve(await text(request).finally(() => response.end()));
    else {
      const file = join(alone, request.url!);
      response.setHeader('content-type', 'text/javascript').end(existsSync(file) ? readFileSync(file) : undefined);
    }
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  await using service = await startService({ CORS_ORIGINS: origin });
  const script = PROGRAM.replace('process.env.STORE', JSON.stringify(service.url))
    .replace('process.env.TOKEN', JSON.stringify(await service.token('alice')))
    .replaceAll(/console\.log\((.*)\)/g, "lines.push(typeof $1 === 'bigint' ? $1 + 'n' : $1)");
  const [importMap] = /<script type="importmap">.*?<\/script>/s.exec(readFileSync('client/README.md', 'utf8'))!;
  page = `${importMap}<script type="module">const lines = [];${script}
    await fetch('/printed', { method: 'POST', body: lines.map((line) => line + '\\n').join('') });</script>`;
  const options = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${join(folder, 'profile')}`];
  const browser: ChildProcess = spawn(CHROMIUM!, [...options, origin], { stdio: 'ignore', detached: true });
  try {
    expect(await printed).toBe(PRINTED);
  } finally {
    const ended = new Promise((exited) => browser.on('exit', exited));
    process.kill(-browser.pid!, 'SIGKILL');
    await ended;
    server.close();
    server.closeAllConnections();
  }
});
