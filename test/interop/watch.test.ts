import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { client } from '../support/http.ts';
import { run } from '../support/run.ts';
import { type Service, startService } from '../support/service.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const ROOT = join(import.meta.dirname, '../..');
const CALLING = readFileSync(join(ROOT, 'docs/calling.md'), 'utf8');

/** The program that the docs show under a heading. */
function shown(heading: string, language: string): string {
  const section = CALLING.split(`\n### ${heading}\n`)[1]!.split(/\n##/)[0]!;
  return new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(section)![1]!;
}

/** Its modules are the project's, so it lies in the project. */
const directory = mkdtempSync(join(ROOT, 'node_modules/.watch-clients-'));
const fileOf = (name: string, text: string): string => {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
};

const PAGE = `${shown('In a browser', 'js')}
watchPlants(process.env.STORE, process.env.TOKEN, (type, data, id) => console.log(type, id, JSON.stringify(data)));`;

const has = async (program: string, argument: string) =>
  (await run(program, [argument], { PATH: process.env.PATH! }).catch(() => ({ code: 1 }))).code === 0;

const CLIENTS = [
  { name: 'In a browser', command: [process.execPath, fileOf('page.mjs', PAGE)], is: true },
  { name: 'In Node', command: [process.execPath, fileOf('node.mjs', shown('In Node', 'js'))], is: true },
  {
    name: 'In Python',
    command: ['python3', fileOf('watch.py', shown('In Python', 'python'))],
    is: await has('python3', '--version'),
  },
  { name: 'In Go', command: ['go', 'run', fileOf('watch.go', shown('In Go', 'go'))], is: await has('go', 'version') },
];

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.stop();
  rmSync(directory, { recursive: true });
});

test.each(CLIENTS.filter(({ is }) => is))(
  'the client that the docs show, $name, misses nothing and hears nothing twice when its connection is cut',
  async ({ name, command: [program, ...args] }) => {
    const proxy = await TcpProxy.start(Number(new URL(service.url).port));
    const token = await service.token(name);
    const send = client(service.url, token);
    const lines: string[] = [];
    let errors = '';
    const running: ChildProcess = spawn(program!, args, {
      cwd: directory,
      detached: true,
      env: { ...process.env, STORE: `http://127.0.0.1:${proxy.port}`, TOKEN: token, GOFLAGS: '-mod=mod' },
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
      await said(/^added .*"id": ?2/);
      proxy.cut();
      await add(3);
      await send('DELETE', '/plants/1');
      await said(/^deleted /);
      proxy.cut();
      await add(4);
      await said(/^added .*"id": ?4/);
      const heard = lines.map((line) => {
        const [, type, id] = /^(\w+)(?:.*"id": ?(\d+))?/.exec(line)!;
        return id === undefined ? type : `${type} ${id}`;
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
