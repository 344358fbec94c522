import { connect, type Socket } from 'node:net';
import { cpuOf } from '../server.ts';
import type { Arrivals, ArrivalsJob } from './job.ts';

/** Milliseconds for which answers are awaited at the end. What has none by then is lost. */
const LOST = 10_000;
/** Bytes of one read. All sockets share them: what was read is looked at before the next read. */
const READ = 256 * 1024;

/**
 * Lets requests arrive at a rate, evenly, whatever became of those before (open loop). Each takes a connection that is free, or a
 * new one; where all are taken it is not sent, as a gateway would refuse it. Without a rate each connection sends its next request
 * when the one before was answered (closed loop).
 * Requests are rendered beforehand, and no more of an answer is read than has to be, so that this costs less than what it measures.
 */
export async function runArrivals(job: ArrivalsJob): Promise<Arrivals> {
  const { connections, rate, seconds, warmUp } = job;
  const start = performance.now();
  const [from, to] = [start + warmUp * 1_000, start + (warmUp + seconds) * 1_000];
  const counts = { offered: 0, sent: 0, answered: 0, served: 0, refused: 0, unsent: 0 };
  const [latencies, refusals, lateness]: [number[], number[], number[]] = [[], [], []];
  const render = renderer(job);
  const idle: Connection[] = [];
  const all = new Set<Connection>();

  const send = (connection: Connection, planned: number) => {
    connection.send(planned, render());
    if (planned < from || planned >= to) return;
    counts.sent++;
    lateness.push(performance.now() - planned);
  };
  const done = (connection: Connection, status: number, planned: number) => {
    const now = performance.now();
    if (status !== 200 && status !== 503) throw new Error(`a request got ${status}`);
    if (now >= from && now < to) counts[status === 200 ? 'served' : 'refused']++;
    if (planned >= from && planned < to) {
      counts.answered++;
      (status === 200 ? latencies : refusals).push(now - planned);
    }
    if (rate === undefined && now < to) send(connection, now);
    else idle.push(connection);
  };
  const open = () => {
    const connection = new Connection(job.url, done, () => {
      all.delete(connection);
      const index = idle.indexOf(connection);
      if (index !== -1) idle.splice(index, 1);
    });
    all.add(connection);
    return connection;
  };

  let usage = process.cpuUsage();
  let serverBefore = 0;
  const measure = setTimeout(() => {
    usage = process.cpuUsage();
    serverBefore = cpuOf(job.pid);
  }, warmUp * 1_000);
  if (rate === undefined) for (let n = 0; n < connections; n++) send(open(), performance.now());
  let arrived = 0;
  for (let now = start; now < to; now = performance.now()) {
    for (const due = rate === undefined ? 0 : ((now - start) / 1_000) * rate; arrived < due; arrived++) {
      const planned = start + (arrived / rate!) * 1_000;
      const counted = planned >= from && planned < to;
      if (counted) counts.offered++;
      const connection = idle.pop() ?? (all.size < connections ? open() : undefined);
      if (connection !== undefined) send(connection, planned);
      else if (counted) counts.unsent++;
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const { user, system } = process.cpuUsage(usage);
  const cores = (cpuOf(job.pid) - serverBefore) / 1e6 / seconds;
  clearTimeout(measure);
  while (performance.now() < to + LOST && idle.length < all.size)
    await new Promise((resolve) => setTimeout(resolve, 10));
  for (const connection of all) connection.close();
  return {
    offered: counts.offered / seconds,
    unsent: counts.unsent / seconds,
    served: counts.served / seconds,
    refused: counts.refused / seconds,
    lost: counts.sent - counts.answered,
    latency: quantiles(latencies),
    refusal: quantiles(refusals),
    lateness: quantiles(lateness),
    cores,
    client: (user + system) / 1e6 / seconds,
  };
}

function quantiles(times: readonly number[]) {
  const sorted = Float64Array.from(times).sort();
  const at = (share: number) => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** Renders the requests of a job in turns, with its tokens in turns and ever new ids. */
function renderer({ requests, tokens, firstId }: ArrivalsJob): () => string {
  let [made, id] = [0, firstId];
  const rendered = requests.map(({ method, path, body = '' }) => {
    const length = Buffer.byteLength(body.replaceAll('{id}', `${firstId}`));
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

const buffer = Buffer.allocUnsafe(READ);

/** One request at a time on one connection. */
class Connection {
  readonly #socket: Socket;
  #planned: number | undefined;
  #status = 0;
  /** Bytes of the answer that are still to come. */
  #left = 0;

  constructor(
    url: string,
    done: (connection: Connection, status: number, planned: number) => void,
    closed: () => void,
  ) {
    const { hostname, port } = new URL(url);
    const callback = (length: number) => {
      if (this.#status === 0) this.#begin(length);
      this.#left -= length;
      if (this.#left > 0 || this.#planned === undefined) return true;
      const [status, planned] = [this.#status, this.#planned];
      [this.#status, this.#planned] = [0, undefined];
      done(this, status, planned);
      return true;
    };
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true, onread: { buffer, callback } });
    this.#socket.on('error', () => {}).on('close', closed);
  }

  send(planned: number, text: string): void {
    this.#planned = planned;
    this.#socket.write(text, 'latin1');
  }

  close(): void {
    this.#planned = undefined;
    this.#socket.destroy();
  }

  /** Reads status and length. An answer's headers come in one piece. */
  #begin(length: number): void {
    const head = buffer.latin1Slice(0, Math.min(length, 1_024));
    const at = head.indexOf('ontent-length: ', 12);
    const end = head.indexOf('\r\n\r\n', at);
    if (at === -1 || end === -1) throw new Error(`not an answer of known length: ${head}`);
    this.#status = Number(head.slice(9, 12));
    this.#left = end + 4 + Number.parseInt(head.slice(at + 15), 10);
  }
}
