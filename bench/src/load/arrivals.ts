import { setTimeout as sleep } from 'node:timers/promises';
import { cpuOf } from '../server.ts';
import { grpcLines } from './grpc-lines.ts';
import type { Arrivals, ArrivalsJob } from './job.ts';
import type { Line, Listener, OpenLine } from './line.ts';
import { restLines } from './rest-lines.ts';
import { quantiles } from './sample.ts';

/** Milliseconds for which answers are awaited at the end. What has none by then is lost. */
const PATIENCE = 10_000;
/** What a request may get. */
const [SERVED, REFUSED] = [200, 503];

/**
 * Lets requests arrive at a rate, evenly, whatever became of those before (open loop). Each takes a line that is free,
 * or a new one; where all are taken it is not sent, as a gateway would refuse it. Without a rate each line sends its
 * next request when the one before was answered (closed loop). Rejects at an answer that is neither 200 nor 503.
 */
export const runArrivals = (job: ArrivalsJob): Promise<Arrivals> => new Population(job).run();

/** The clients of one job, and what they saw. */
class Population implements Listener {
  readonly #job: ArrivalsJob;
  readonly #openLine: OpenLine;
  readonly #start = performance.now();
  /** The window in which is counted. */
  readonly #from: number;
  readonly #to: number;
  readonly #all = new Set<Line>();
  readonly #idle: Line[] = [];
  /** Requests that have arrived. */
  #due = 0;
  readonly #counts = { offered: 0, unsent: 0, sent: 0, answered: 0, served: 0, refused: 0 };
  readonly #latencies: number[] = [];
  readonly #refusals: number[] = [];
  readonly #lateness: number[] = [];
  readonly #wrong = Promise.withResolvers<never>();

  constructor(job: ArrivalsJob) {
    this.#job = job;
    this.#openLine = 'url' in job.target ? restLines(job.target, job) : grpcLines(job.target, job);
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
      for (const line of this.#all) line.close();
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
    const line = this.#idle.pop() ?? (this.#all.size < this.#job.connections ? this.#open() : undefined);
    if (this.#isCounted(planned)) {
      this.#counts.offered++;
      if (line === undefined) this.#counts.unsent++;
    }
    if (line !== undefined) this.#send(line, planned);
  }

  #isCounted = (planned: number) => planned >= this.#from && planned < this.#to;

  #send(line: Line, planned: number): void {
    line.send(planned);
    if (!this.#isCounted(planned)) return;
    this.#counts.sent++;
    this.#lateness.push(performance.now() - planned);
  }

  #open(): Line {
    const line = this.#openLine(this);
    this.#all.add(line);
    return line;
  }

  answered(line: Line, status: number, planned: number): void {
    const now = performance.now();
    if (status !== SERVED && status !== REFUSED) this.#wrong.reject(new Error(`a request got ${status}`));
    if (this.#isCounted(now)) this.#counts[status === SERVED ? 'served' : 'refused']++;
    if (this.#isCounted(planned)) {
      this.#counts.answered++;
      (status === SERVED ? this.#latencies : this.#refusals).push(now - planned);
    }
    if (this.#job.rate === undefined && now < this.#to) {
      this.#send(line, now);
      return;
    }
    this.#idle.push(line);
    this.#catchUp(now);
  }

  closed(line: Line): void {
    this.#all.delete(line);
    const index = this.#idle.indexOf(line);
    if (index !== -1) this.#idle.splice(index, 1);
  }
}
