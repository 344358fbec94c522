import { connect, type Socket } from 'node:net';
import type { Flooded, FloodJob } from './flood.ts';

/** The connections of one flood. */
class Connections {
  readonly #job: FloodJob;
  readonly #open = new Set<Socket>();
  readonly #begun = performance.now();
  #looked = this.#begun;
  /** Connections that were to be tried by then. */
  #due = 0;
  readonly #timer: NodeJS.Timeout;
  #tried = 0;
  #opened = 0;
  #closed = 0;

  constructor(job: FloodJob) {
    this.#job = job;
    this.#timer = setInterval(() => this.#catchUp(), 1);
  }

  end(): Flooded {
    clearInterval(this.#timer);
    const seconds = (performance.now() - this.#begun) / 1_000;
    const flooded = { rate: this.#opened / seconds, open: this.#open.size, closed: this.#closed / seconds };
    for (const socket of this.#open) leave(socket);
    return flooded;
  }

  #catchUp(): void {
    const now = performance.now();
    const { rise, rate, most } = this.#job;
    this.#due += ((now - this.#looked) / 1_000) * (this.#tried < most ? rise : rate);
    this.#looked = now;
    while (this.#tried < this.#due) this.#connect();
  }

  #connect(): void {
    this.#tried++;
    if (this.#open.size >= this.#job.most) {
      const [oldest] = this.#open;
      this.#open.delete(oldest!);
      leave(oldest!);
    }
    const socket = connect({ host: '127.0.0.1', port: this.#job.port });
    this.#open.add(socket);
    socket
      .on('connect', () => {
        this.#opened++;
        socket.write(this.#job.bytes);
      })
      .on('error', () => {})
      .on('close', () => {
        if (this.#open.delete(socket)) this.#closed++;
      })
      .resume();
  }
}

/** Resets a connection: one that is closed would keep its port for a minute. */
const leave = (socket: Socket): unknown => socket.resetAndDestroy();

let connections: Connections | undefined;

/** The process that floods: begins and ends as its parent says. */
process.on('message', (job: FloodJob | { readonly type: 'end' }) => {
  if (job.type === 'begin') connections = new Connections(job);
  process.send!({ done: job.type === 'begin' ? undefined : connections!.end() });
});
process.on('disconnect', () => process.exit(0));
