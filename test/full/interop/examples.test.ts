import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CleanClone } from '../../support/clean-clone.ts';
import { client } from '../../support/http.ts';
import { findPython } from '../../support/python.ts';
import { run } from '../../support/run.ts';
import { type Service, startService } from '../../support/service.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const python = await findPython(readFileSync('examples/python/requirements.txt', 'utf8').trim().split('\n'));
const hasPython = python !== undefined;
const hasGo = (await run('go', ['version']).catch(() => ({ code: 1 }))).code === 0;
if (!hasGo && process.env.CI === 'true') throw new Error('the examples in Go need Go on PATH');
if (!hasGo) console.error('\nNOT TESTED: the examples in Go, since it is not on PATH\n');

let service: Service;
let clone: CleanClone;
beforeAll(async () => {
  service = await startService();
  clone = new CleanClone();
  writeFileSync(clone.file('examples/browser/page.js'), PAGE);
  symlinkSync(resolve('node_modules'), clone.file('examples/node/node_modules'));
  mkdirSync(clone.file('examples/client/node_modules'));
  symlinkSync(clone.file('client'), clone.file('examples/client/node_modules/plantstore-client'));
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
  { name: 'Python', folder: 'python', lists: ['Fern'], is: hasPython },
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
      let errors = '';
      child.stdout.on('data', (text) => (output += text));
      // npm warns here, and Go names the modules that it downloads on its first run.
      child.stderr.on('data', (text) => (errors += text));
      const code = await new Promise((closed) => child.on('close', closed));
      expect(code, `${line}\n${output}${errors}`).toBe(0);
      return output.split('\n').filter((text) => text !== '');
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
  { name: 'client', command: ['node', 'watch.js'], silence: ['client/dist/watch.js', '45_000'], is: true },
  { name: 'browser', command: ['node', 'page.js'], silence: ['examples/browser/watch.js', '45_000'], is: true },
  { name: 'node', command: ['node', 'watch.js'], silence: ['examples/node/watch.js', '45_000'], is: true },
  { name: 'python', command: ['python', 'watch.py'], silence: ['examples/python/watch.py', '45'], is: hasPython },
  { name: 'go', command: ['go', 'run', './watch'], silence: ['examples/go/watch/main.go', '45 *'], is: hasGo },
];

/** Changes a program in the clone, so that it waits for 2 s where it waits for 45 s. */
function impatient([file, silence]: readonly string[]): Disposable {
  const path = clone.file(file!);
  const source = readFileSync(path, 'utf8');
  expect(source.split(silence!)).toHaveLength(2);
  writeFileSync(path, source.replace(silence!, silence!.replace('45', '2')));
  return { [Symbol.dispose]: () => writeFileSync(path, source) };
}

/** A program that watches, and the lines that it has printed. */
class Watcher {
  readonly lines: string[] = [];
  errors = '';
  readonly #running: ChildProcess;
  readonly #closed: Promise<unknown>;

  constructor({ name, command: [program, ...args] }: (typeof WATCHERS)[number], token: string, url: string) {
    const cwd = clone.file('examples', name);
    this.#running = spawn(program!, args, { cwd, detached: true, env: environment(token, url) });
    this.#closed = once(this.#running, 'close');
    createInterface({ input: this.#running.stdout! }).on('line', (line) => this.lines.push(line));
    this.#running.stderr!.on('data', (text) => {
      this.errors += text;
    });
  }

  /** The events: their types, and the ids of their plants. Some programs tell that they begin, and some do not. */
  get heard(): string[] {
    return this.lines
      .map((line) => {
        const [, type, id, exact] = /^(\w+)(?:.*"id": ?(\d+)| (\d+)n)?/.exec(line)!;
        return id === undefined && exact === undefined ? type! : `${type} ${id ?? exact}`;
      })
      .filter((event) => event !== 'reset');
  }

  /** Resolves when it has printed such a line. */
  async said(fits: RegExp): Promise<void> {
    while (!this.lines.some((line) => fits.test(line))) {
      if (this.#running.exitCode !== null) throw new Error(`it ended: ${this.lines.join('\n')}\n${this.errors}`);
      await sleep(20);
    }
  }

  /** Resolves when it has ended by itself. */
  async ends(): Promise<void> {
    await this.#closed;
  }

  [Symbol.dispose](): void {
    // `go run` has a child.
    if (this.#running.exitCode === null) process.kill(-this.#running.pid!, 'SIGKILL');
  }
}

// They wait more than they compute. The tests of one run one after the other: the last changes its program.
describe.concurrent.each(WATCHERS.filter(({ is }) => is))('the watch in examples/$name', (watcher) => {
  test('misses nothing and hears nothing twice when its connection is cut', {
    concurrent: false,
    timeout: 120_000,
  }, async () => {
    const proxy = await TcpProxy.start(Number(new URL(service.url).port));
    const token = await service.token(`watch ${watcher.name}`);
    const send = client(service.url, token);
    const add = (id: number) => send('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` });
    await add(1);
    using running = new Watcher(watcher, token, `http://127.0.0.1:${proxy.port}`);
    try {
      await running.said(/^ready /);
      await add(2);
      await running.said(/^added .*("id": ?2|2n)/);
      proxy.cut();
      await add(3);
      await send('DELETE', '/plants/1');
      await running.said(/^deleted /);
      proxy.cut();
      await add(4);
      await running.said(/^added .*("id": ?4|4n)/);
      expect(running.heard).toEqual(['added 1', 'ready', 'added 2', 'added 3', 'deleted 1', 'added 4']);
    } finally {
      await proxy.close();
    }
  });

  test('outlives an outage behind a proxy, resumes after the last whole event, and ends when it is refused', {
    concurrent: false,
    timeout: 120_000,
  }, async () => {
    const state = 'event: added\ndata: {"id":1,"name":"Fern"}\n\nevent: ready\nid: 4198\ndata: {"position":4198}\n\n';
    const news = 'event: added\nid: 4199\ndata: {"id":2,"name":"Fougère"}\n\n';
    const upTo = (text: string) => Buffer.from(news).subarray(0, Buffer.from(news).indexOf(text) + text.length);
    const asked: unknown[] = [];
    const answers = [
      ...[{ status: 502 }, { status: 500 }, { status: 429 }],
      { text: [state, upTo('id: 4199\n')] },
      { text: [upTo('id: 41')] },
      // A proxy sends the stream in chunks. It cuts them here, too.
      { text: [upTo('id: 4199\n')], isChunked: true },
      { text: [upTo('id: 419')], isChunked: true },
      { text: [upTo('Foug'), Buffer.of(0xc3)] },
      { text: [news] },
      { status: 401 },
    ];
    const server = createServer(async ({ headers, socket }, response) => {
      const { status = 200, text = [], isChunked = false } = answers[asked.length] ?? { status: 401 };
      asked.push(headers['last-event-id'] || undefined);
      if (status === 200) response.setHeader('content-type', 'text/event-stream');
      if (!isChunked) response.removeHeader('transfer-encoding');
      response.setHeader('connection', 'close').writeHead(status);
      if (status !== 200) {
        response.end(`HTTP ${status}`);
        return;
      }
      response.write('retry: 10\n\n');
      for (const part of text)
        await new Promise((sent) => (isChunked ? socket.write(`ff\r\n${part}`, sent) : response.write(part, sent)));
      socket.destroy();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    try {
      using running = new Watcher(watcher, 'token', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      await running.ends();
      expect(running.heard, running.errors).toEqual(['added 1', 'ready', 'added 2']);
      const { length } = answers;
      expect(asked.slice(0, length)).toEqual([...Array(4).fill(undefined), ...Array(length - 5).fill('4198'), '4199']);
      expect(running.errors).toMatch(/401/);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  test('replaces a connection that falls silent and one that gets no answer', {
    concurrent: false,
    timeout: 120_000,
  }, async () => {
    const asked: unknown[] = [];
    const server = createServer(({ headers }, response) => {
      asked.push(headers['last-event-id'] || undefined);
      if (asked.length === 2) return;
      response.writeHead(asked.length <= 3 ? 200 : 401, { 'content-type': 'text/event-stream' });
      if (asked.length === 1) response.write('retry: 10\n\nevent: ready\nid: 5\ndata: {"position":5}\n\n');
      else if (asked.length === 3) response.end('event: deleted\nid: 6\ndata: {"id":7}\n\n');
      else response.end('HTTP 401');
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    try {
      using _shortened = impatient(watcher.silence);
      using running = new Watcher(watcher, 'token', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      await running.ends();
      expect(running.heard, running.errors).toEqual(['ready', 'deleted 7']);
      expect(asked.slice(0, 4)).toEqual([undefined, '5', '5', '6']);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});
