import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { quantiles } from './sample.ts';
import type { OpenStreams, Probe, Probed, Received, WatchersJob } from './watching.ts';

/** Bytes of one read. All streams share them: what was read is looked at before the next read. */
const buffer = Buffer.allocUnsafe(256 * 1024);
/** Streams that are opened at once. */
const OPENING = 50;
/** Of so many streams, one looks at what it reads: a look costs more than a read. */
const LOOKING = 20;
/** Longest text that names a probe. */
const PROBE_LENGTH = 32;
/** Milliseconds for which the last probes are awaited. */
const PATIENCE = 5_000;
/** What a quiet stream says, which is no event. */
const COMMENT = 3;

/** One event stream; no more of it is read than has to be. */
class Stream {
  readonly socket: Socket;
  readonly opened: Promise<void>;
  bytes = 0;
  reads = 0;
  isClosed = false;
  #tail = '';

  constructor({ url, token, looks }: { url: string; token: string; looks: boolean }) {
    const { hostname: host, port } = new URL(url);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.opened = promise;
    const callback = (length: number) => {
      this.reads++;
      if (length > COMMENT) this.bytes += length;
      if (this.#isOpen) {
        if (looks) this.#look(length);
      } else this.#begin(length, resolve);
      return true;
    };
    this.socket = connect({ host, port: Number(port), noDelay: true, onread: { buffer, callback } });
    this.socket
      .on('error', () => {})
      .on('close', () => {
        this.isClosed = true;
      });
    this.socket.write(
      `GET /plants HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nauthorization: Bearer ${token}\r\n\r\n`,
    );
  }

  #isOpen = false;

  #begin(length: number, resolve: () => void): void {
    this.#tail += buffer.toString('latin1', 0, length);
    if (!this.#tail.includes('event: ready')) return;
    if (!this.#tail.startsWith('HTTP/1.1 200')) throw new Error(`not an event stream: ${this.#tail}`);
    this.#tail = '';
    this.#isOpen = true;
    resolve();
  }

  #look(length: number): void {
    const text = this.#tail + buffer.toString('latin1', 0, length);
    for (let at = text.indexOf('"probe '); at !== -1; at = text.indexOf('"probe ', at + 1)) {
      const end = text.indexOf('"', at + 1);
      if (end !== -1) came(text.slice(at + 1, end));
    }
    this.#tail = text.slice(-PROBE_LENGTH);
    // A probe is not to be found again.
    const last = this.#tail.lastIndexOf('"probe ');
    if (last !== -1 && this.#tail.includes('"', last + 1)) this.#tail = '';
  }
}

let streams: Stream[] = [];
/** Bytes of each stream when all were open. */
let before: number[] = [];
let url = '';
const sent = new Map<string, { readonly at: number; missing: number }>();
let times: number[] = [];

function came(probe: string): void {
  const one = sent.get(probe);
  if (one === undefined) return;
  times.push(performance.now() - one.at);
  if (--one.missing === 0) sent.delete(probe);
}

async function open(job: OpenStreams): Promise<void> {
  url = job.url;
  for (let opened = 0; opened < job.count; opened += OPENING) {
    const some = Array.from({ length: Math.min(OPENING, job.count - opened) }, (_, index) => {
      const number = opened + index;
      return new Stream({ url, token: job.tokens[number % job.tokens.length]!, looks: number % LOOKING === 0 });
    });
    await Promise.all(some.map(({ opened }) => opened));
    streams.push(...some);
  }
  before = streams.map(({ bytes }) => bytes);
}

async function probe({ token, from, seconds, every }: Probe): Promise<Probed> {
  const agent = new Agent({ keepAlive: true });
  const looking = streams.filter((_, number) => number % LOOKING === 0).length;
  const [start, answers]: [number, number[]] = [performance.now(), []];
  let id = from;
  [times] = [[]];
  while (performance.now() - start < seconds * 1_000) {
    const at = performance.now();
    const name = `probe ${id}`;
    if (looking > 0) sent.set(name, { at, missing: looking });
    await add(agent, token, `{"id":${id++},"name":"${name}"}`);
    answers.push(performance.now() - at);
    await sleep(Math.max(every - (performance.now() - at), 0));
  }
  for (const end = performance.now() + PATIENCE; sent.size > 0 && performance.now() < end; ) await sleep(10);
  agent.destroy();
  if (sent.size > 0) throw new Error(`${sent.size} of ${id - from} probes did not come to every stream`);
  return { probes: id - from, times: quantiles(times), answers: quantiles(answers) };
}

async function add(agent: Agent, token: string, body: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const call = request(`${url}/plants`, { agent, method: 'POST', headers }).end(body);
  const [answer] = await once(call, 'response');
  answer.resume();
  if (answer.statusCode !== 200) throw new Error(`a probe got ${answer.statusCode}`);
  await once(answer, 'end');
}

/** Resolves when nothing has come for a while. */
async function received(): Promise<Received> {
  const sum = (of: (stream: Stream) => number) => streams.reduce((total, stream) => total + of(stream), 0);
  for (let [last, now] = [-1, sum(({ bytes }) => bytes)]; last !== now; ) {
    await sleep(500);
    [last, now] = [now, sum(({ bytes }) => bytes)];
  }
  const grown = new Set(streams.map(({ bytes }, number) => bytes - before[number]!));
  return {
    bytes: sum(({ bytes }) => bytes),
    reads: sum(({ reads }) => reads),
    closed: streams.filter(({ isClosed }) => isClosed).length,
    isSame: grown.size <= 1,
  };
}

async function run(job: WatchersJob): Promise<unknown> {
  switch (job.type) {
    case 'open':
      return open(job);
    case 'probe':
      return probe(job);
    case 'received':
      return received();
    case 'close':
      for (const { socket } of streams) socket.destroy();
      streams = [];
  }
}

/** The process that watches: does what its parent sends, one thing at a time. */
process.on('message', async (job: WatchersJob) => {
  try {
    process.send!({ done: await run(job) });
  } catch (error) {
    process.send!({ error: (error as Error).message });
  }
});
process.on('disconnect', () => process.exit(0));
