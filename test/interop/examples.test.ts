import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CleanClone } from '../support/clean-clone.ts';
import { client } from '../support/http.ts';
import { findPython } from '../support/python.ts';
import { run } from '../support/run.ts';
import { type Service, startService } from '../support/service.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const python = await findPython(readFileSync('examples/python/requirements.txt', 'utf8').trim().split('\n'));
const hasGo = (await run('go', ['version']).catch(() => ({ code: 1 }))).code === 0;
if (!hasGo && process.env.CI === 'true') throw new Error('the examples in Go need Go on PATH');
if (!hasGo) console.error('\nNOT TESTED: the examples in Go, since it is not on PATH\n');

let service: Service;
let clone: CleanClone;
beforeAll(async () => {
  service = await startService();
  clone = new CleanClone();
  symlinkSync(resolve('node_modules'), clone.file('examples/node/node_modules'));
  mkdirSync(clone.file('examples/client/node_modules'));
  symlinkSync(clone.path, clone.file('examples/client/node_modules/plantstore'));
  const built = await run('node_modules/.bin/tsc', ['-p', clone.file('client')]);
  expect(built).toEqual({ code: 0, stdout: '', stderr: '' });
});
afterAll(async () => {
  await service.stop();
  clone[Symbol.dispose]();
});

/** The Node, the Python and the buf of the tests come before others. */
const PATH = [
  ...[dirname(process.execPath), resolve('node_modules/.bin')],
  ...(python === undefined ? [] : [dirname(python)]),
  process.env.PATH,
].join(':');

const environment = (token: string, url: string) => ({
  ...process.env,
  PATH,
  STORE: url,
  GRPC_STORE: service.grpcUrl,
  TOKEN: token,
});

/** The commands that the documentation shows under a heading, but for those that install something. */
function commands(heading: string): string[] {
  const section = readFileSync('docs/calling.md', 'utf8').split(`\n## ${heading}\n`)[1]!.split(/\n## /)[0]!;
  const [, block] = /^```sh\n(.*?)^```$/ms.exec(section)!;
  return block!.split('\n').filter((line) => line !== '' && !/^(npm|pip|go) install\b|npm pack/.test(line));
}

const LANGUAGES = [
  { name: 'TypeScript and JavaScript', folder: 'client', lists: ['9007199254740993n Fern'], is: true },
  { name: 'Node', folder: 'node', lists: ['Fern'], is: true },
  { name: 'Python', folder: 'python', lists: ['Fern'], is: python !== undefined },
  { name: 'Go', folder: 'go', lists: ['Fern'], is: hasGo },
];

describe.each(LANGUAGES.filter(({ is }) => is))('the example under $name', ({ name, folder, lists }) => {
  test('adds, is refused for a reason, lists and deletes, and can be run again', async () => {
    const env = environment(await service.token(folder), service.url);
    const lines = commands(name);
    expect(lines.length).toBeGreaterThan(0);
    const shell = async (line: string) => {
      const child = spawn('bash', ['-c', line], { cwd: clone.file('examples', folder), env, stdio: 'pipe' });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
      const code = await new Promise((closed) => child.on('close', closed));
      expect(code, `${line}\n${output}`).toBe(0);
      return output.split('\n').filter((text) => text !== '' && !text.startsWith('npm warn'));
    };
    for (const line of lines.slice(0, -1)) await shell(line);
    const expected = [expect.stringMatching(/^added at position \d+n?$/), 'PLANT_ALREADY_EXISTS', ...lists];
    expect(await shell(lines.at(-1)!)).toEqual(expected);
    expect(await shell(lines.at(-1)!)).toEqual(expected);
  }, 300_000);
});

/** What has the page's function print each event. */
const PAGE = `import { watchPlants } from './watch.js';
watchPlants(process.env.STORE, process.env.TOKEN, (type, data, id) => console.log(type, id, JSON.stringify(data)));`;

const WATCHERS = [
  { name: 'client', command: ['node', 'watch.js'], is: true },
  { name: 'browser', command: ['node', 'page.js'], is: true },
  { name: 'node', command: ['node', 'watch.js'], is: true },
  { name: 'python', command: ['python', 'watch.py'], is: python !== undefined },
  { name: 'go', command: ['go', 'run', './watch'], is: hasGo },
];

test.each(WATCHERS.filter(({ is }) => is))(
  'the watch in examples/$name misses nothing and hears nothing twice when its connection is cut',
  async ({ name, command: [program, ...args] }) => {
    writeFileSync(clone.file('examples/browser/page.js'), PAGE);
    const proxy = await TcpProxy.start(Number(new URL(service.url).port));
    const token = await service.token(`watch ${name}`);
    const send = client(service.url, token);
    const lines: string[] = [];
    let errors = '';
    const running: ChildProcess = spawn(program!, args, {
      cwd: clone.file('examples', name),
      detached: true,
      env: environment(token, `http://127.0.0.1:${proxy.port}`),
    });
    createInterface({ input: running.stdout! }).on('line', (line) => lines.push(line));
    running.stderr!.on('data', (text) => {
      errors += text;
    });
    const said = async (fits: RegExp) => {
      while (!lines.some((line) => fits.test(line))) {
        if (running.exitCode !== null) throw new Error(`${name} ended: ${lines.join('\n')}\n${errors}`);
        await sleep(20);
      }
    };
    const add = (id: number) => send('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` });
    try {
      await add(1);
      await said(/^ready /);
      await add(2);
      await said(/^added .*("id": ?2|2n)/);
      proxy.cut();
      await add(3);
      await send('DELETE', '/plants/1');
      await said(/^deleted /);
      proxy.cut();
      await add(4);
      await said(/^added .*("id": ?4|4n)/);
      const heard = lines.map((line) => {
        const [, type, id, exact] = /^(\w+)(?:.*"id": ?(\d+)| (\d+)n)?/.exec(line)!;
        return id === undefined && exact === undefined ? type : `${type} ${id ?? exact}`;
      });
      // Some tell that they begin, and some do not.
      if (heard[0] === 'reset') heard.shift();
      expect(heard).toEqual(['added 1', 'ready', 'added 2', 'added 3', 'deleted 1', 'added 4']);
    } finally {
      // `go run` has a child.
      if (running.exitCode === null) process.kill(-running.pid!, 'SIGKILL');
      await proxy.close();
    }
  },
  120_000,
);
