import { connect, type Socket } from 'node:net';

/** One request, made anew each time. */
export type MakeRequest = () => {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** Most connections: what arrives while all are taken waits for one, as it would in a gateway. */
const CONNECTIONS = 2_000;
/** Milliseconds after which a request that was not answered counts as lost. */
const LOST = 5_000;

/** What became of requests that arrived at a given rate, whatever the server made of those before. */
export interface Arrivals {
  /** Requests a second that arrived, were served (2xx), and were refused (503). */
  readonly offered: number;
  readonly served: number;
  readonly refused: number;
  /** Requests that got another answer, or none in time. */
  readonly lost: number;
  /** Milliseconds from arrival to the end of the answer, of those that were served. */
  readonly p50: number;
  readonly p99: number;
}

interface Waiting {
  readonly arrived: number;
  readonly bytes: string;
}

/** Requests a second that are served when so many connections send one after the other, each when the one before was answered. */
export async function capacity(url: string, make: MakeRequest, connections: number, seconds: number): Promise<number> {
  const { hostname, port, host } = new URL(url);
  const end = performance.now() + seconds * 1_000;
  let served = 0;
  const loop = () =>
    new Promise<void>((resolve) => {
      const next = () => connection.send({ arrived: performance.now(), bytes: bytesOf(make(), host) });
      const done = (_: Connection, status: number, arrived: number) => {
        if (arrived < end && status === 200) served++;
        if (performance.now() < end) next();
        else connection.close();
      };
      const connection: Connection = new Connection(connect(Number(port), hostname), done, () => resolve());
      next();
    });
  await Promise.all(Array.from({ length: connections }, loop));
  return served / seconds;
}

/** Lets so many requests a second arrive for some seconds, evenly, on as many connections as it takes. */
export async function arrive(url: string, make: MakeRequest, rate: number, seconds: number): Promise<Arrivals> {
  const { hostname, port, host } = new URL(url);
  const idle: Connection[] = [];
  const all = new Set<Connection>();
  const queue: Waiting[] = [];
  const times: number[] = [];
  let [offered, refused, lost] = [0, 0, 0];

  const done = (connection: Connection, status: number, arrived: number) => {
    if (status === 200) times.push(performance.now() - arrived);
    else if (status === 503) refused++;
    else lost++;
    const next = queue.shift();
    if (next !== undefined) connection.send(next);
    else idle.push(connection);
  };
  const open = () => {
    const connection = new Connection(connect(Number(port), hostname), done, (wasBusy) => {
      all.delete(connection);
      if (wasBusy) lost++;
      if (idle.includes(connection)) idle.splice(idle.indexOf(connection), 1);
    });
    all.add(connection);
    return connection;
  };

  const start = performance.now();
  for (let now = start; now < start + seconds * 1_000; now = performance.now()) {
    for (const due = ((now - start) / 1_000) * rate; offered < due; offered++) {
      const request = { arrived: start + (offered / rate) * 1_000, bytes: bytesOf(make(), host) };
      const connection = idle.pop() ?? (all.size < CONNECTIONS ? open() : undefined);
      if (connection === undefined) queue.push(request);
      else connection.send(request);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const end = performance.now();
  while (performance.now() < end + LOST && idle.length < all.size)
    await new Promise((resolve) => setTimeout(resolve, 10));
  lost += all.size - idle.length + queue.length;
  for (const connection of all) connection.close();
  times.sort((a, b) => a - b);
  const elapsed = (end - start) / 1_000;
  return {
    offered: offered / elapsed,
    served: times.length / elapsed,
    refused: refused / elapsed,
    lost,
    p50: times[Math.floor(times.length / 2)] ?? Number.NaN,
    p99: times[Math.floor(times.length * 0.99)] ?? Number.NaN,
  };
}

function bytesOf({ method, path, headers, body = '' }: ReturnType<MakeRequest>, host: string): string {
  const lines = Object.entries({ host, ...headers, ...(body && { 'content-length': Buffer.byteLength(body) }) });
  return `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

/** One request at a time on one connection. It reads no more of an answer than it needs, so that the server gets the CPU. */
class Connection {
  readonly #socket: Socket;
  #arrived: number | undefined;
  #status = 0;
  /** Bytes of the answer that are still to come. */
  #left = 0;

  constructor(
    socket: Socket,
    done: (connection: Connection, status: number, arrived: number) => void,
    closed: (wasBusy: boolean) => void,
  ) {
    this.#socket = socket.setNoDelay();
    socket.on('data', (chunk) => {
      if (this.#status === 0) this.#begin(chunk);
      this.#left -= chunk.length;
      if (this.#left > 0 || this.#arrived === undefined) return;
      const [status, arrived] = [this.#status, this.#arrived];
      [this.#status, this.#arrived] = [0, undefined];
      done(this, status, arrived);
    });
    socket.on('error', () => {}).on('close', () => closed(this.#arrived !== undefined));
  }

  send({ arrived, bytes }: Waiting): void {
    this.#arrived = arrived;
    this.#socket.write(bytes);
  }

  close(): void {
    this.#arrived = undefined;
    this.#socket.destroy();
  }

  /** Reads status and length. An answer's headers come in one piece. */
  #begin(chunk: Buffer): void {
    const head = chunk.toString('latin1', 0, 1_024);
    const length = /\r\ncontent-length: (\d+)/i.exec(head);
    if (length === null) throw new Error(`not an answer of known length: ${head}`);
    this.#status = Number(head.slice(9, 12));
    this.#left = head.indexOf('\r\n\r\n') + 4 + Number(length[1]);
  }
}
