import { setTimeout as sleep } from 'node:timers/promises';
import { cpuOf } from '../server.ts';
import { Connection } from './connection.ts';
import type { Arrivals, ArrivalsJob } from './job.ts';
import { quantiles } from './sample.ts';

/** Milliseconds for which answers are awaited at the end. What has none by then is lost. */
const PATIENCE = 10_000;
/** What a request may get. */
const [SERVED, REFUSED] = [200, 503];

/**
 * Lets requests arrive at a rate, evenly, whatever became of those before (open loop). Each takes a connection that is free, or a
 * new one; where all are taken it is not sent, as a gateway would refuse it. Without a rate each connection sends its next request
 * when the one before was answered (closed loop). Rejects at an answer that is neither 200 nor 503.
 */
export const runArrivals = (job: ArrivalsJob): Promise<Arrivals> => new Population(job).run();

/** The clients of one job, and what they saw. */
class Population {
  readonly #job: ArrivalsJob;
  readonly #render: () => string;
  readonly #start = performance.now();
  /** The window in which is counted. */
  readonly #from: number;
  readonly #to: number;
  readonly #all = new Set<Connection>();
  readonly #idle: Connection[] = [];
  /** Requests that have arrived. */
  #due = 0;
  readonly #counts = { offered: 0, unsent: 0, sent: 0, answered: 0, served: 0, refused: 0 };
  readonly #latencies: number[] = [];
  readonly #refusals: number[] = [];
  readonly #lateness: number[] = [];
  readonly #wrong = Promise.withResolvers<never>();

  constructor(job: ArrivalsJob) {
    this.#job = job;
    this.#render = renderer(job);
    this.#from = this.#start + job.warmUp * 1_000;
    this.#to = this.#from + job.seconds * 1_000;
  }

  async run(): Promise<Arrivals> {
    const { pid, seconds } = this.#job;
    let [client, server] = [0, 0];
    const read = (sign: 1 | -1) => {
      client += sign * cpuOf(process.pid);
      server += sign * cpuOf(pid);
    };
    const timer = setTimeout(() => read(-1), this.#from - performance.now());
    try {
      await Promise.race([this.#arrive(), this.#wrong.promise]);
      read(1);
      while (performance.now() < this.#to + PATIENCE && this.#idle.length < this.#all.size) await sleep(10);
    } finally {
      clearTimeout(timer);
      for (const connection of this.#all) connection.close();
    }
    const { offered, unsent, served, refused, sent, answered } = this.#counts;
    return {
      offered: offered / seconds,
      unsent: unsent / seconds,
      served: served / seconds,
      refused: refused / seconds,
      lost: sent - answered,
      latency: quantiles(this.#latencies),
      refusal: quantiles(this.#refusals),
      lateness: quantiles(this.#lateness),
      server: server / 1e6 / seconds,
      client: client / 1e6 / seconds,
    };
  }

  async #arrive(): Promise<void> {
    const { rate, connections } = this.#job;
    if (rate === undefined) for (let n = 0; n < connections; n++) this.#send(this.#open(), performance.now());
    while (performance.now() < this.#to) {
      this.#catchUp(performance.now());
      await sleep(1);
    }
  }

  /** Lets arrive what has become due. */
  #catchUp(now: number): void {
    const { rate } = this.#job;
    if (rate === undefined) return;
    const due = ((Math.min(now, this.#to) - this.#start) / 1_000) * rate;
    while (this.#due < due) this.#arrived(this.#start + (this.#due++ / rate) * 1_000);
  }

  #arrived(planned: number): void {
    const connection = this.#idle.pop() ?? (this.#all.size < this.#job.connections ? this.#open() : undefined);
    if (this.#isCounted(planned)) {
      this.#counts.offered++;
      if (connection === undefined) this.#counts.unsent++;
    }
    if (connection !== undefined) this.#send(connection, planned);
  }

  #isCounted = (planned: number) => planned >= this.#from && planned < this.#to;

  #send(connection: Connection, planned: number): void {
    connection.send(planned, this.#render());
    if (!this.#isCounted(planned)) return;
    this.#counts.sent++;
    this.#lateness.push(performance.now() - planned);
  }

  #open(): Connection {
    const connection = new Connection(this.#job.url, this);
    this.#all.add(connection);
    return connection;
  }

  answered(connection: Connection, status: number, planned: number): void {
    const now = performance.now();
    if (status !== SERVED && status !== REFUSED) this.#wrong.reject(new Error(`a request got ${status}`));
    if (this.#isCounted(now)) this.#counts[status === SERVED ? 'served' : 'refused']++;
    if (this.#isCounted(planned)) {
      this.#counts.answered++;
      (status === SERVED ? this.#latencies : this.#refusals).push(now - planned);
    }
    if (this.#job.rate === undefined && now < this.#to) {
      this.#send(connection, now);
      return;
    }
    this.#idle.push(connection);
    this.#catchUp(now);
  }

  closed(connection: Connection): void {
    this.#all.delete(connection);
    const index = this.#idle.indexOf(connection);
    if (index !== -1) this.#idle.splice(index, 1);
  }
}

/** Renders the requests of a job in turns, with its tokens in turns and ever new ids. */
function renderer({ requests, tokens, ids }: ArrivalsJob): () => string {
  let [made, id] = [0, ids.from];
  const rendered = requests.map(({ method, path, body = '' }) => {
    const length = Buffer.byteLength(body.replaceAll('{id}', `${id}`));
    const content = body === '' ? '' : `content-type: application/json\r\ncontent-length: ${length}\r\n`;
    const text = `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n${content}\r\n${body}`;
    return tokens.map((token) => text.replace('{token}', token).split('{id}'));
  });
  return () => {
    const turn = made++;
    const parts = rendered[turn % requests.length]![turn % tokens.length]!;
    return parts.length === 1 ? parts[0]! : parts.join(`${id++}`);
  };
}
