import {
  Counter,
  type CounterConfiguration,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type HistogramConfiguration,
  Registry,
} from 'prom-client';

/**
 * The metrics of one service, in a registry of their own. What is known anyway is read when somebody scrapes (`gauge`, `total`);
 * what happens is counted as it happens (`counter`, `histogram`). Names and units are as Prometheus has them: seconds, bytes,
 * `_total` for what only goes up.
 */
export class Metrics {
  readonly #registry = new Registry();

  /** Begins with those of the process and of Node: CPU, memory, handles, garbage collection, delay of the event loop. */
  constructor() {
    collectDefaultMetrics({ register: this.#registry });
  }

  /** A value that goes up and down, read at each scrape. While it is undefined, there is no sample. */
  gauge(name: string, help: string, read: () => number | undefined): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect: sampled((gauge: Gauge, value) => gauge.set(value), read),
    });
  }

  /** A count that somebody keeps already and that never goes down, read at each scrape; its name ends in `_total`. */
  total(name: string, help: string, read: () => number | undefined): void {
    new Counter({
      name,
      help,
      registers: [this.#registry],
      collect: sampled((counter: Counter, value) => counter.inc(value), read),
    });
  }

  /** A count of what happens, by labels with few values each. */
  counter<Label extends string>(options: CounterConfiguration<Label>): Counter<Label> {
    return new Counter({ ...options, registers: [this.#registry] });
  }

  /** Counts of what happens by size, by labels with few values each. */
  histogram<Label extends string>(options: HistogramConfiguration<Label>): Histogram<Label> {
    return new Histogram({ ...options, registers: [this.#registry] });
  }

  /** A 1 whose labels are the values, such as a version. */
  info(name: string, help: string, labels: Readonly<Record<string, string>>): void {
    new Gauge({ name, help, labelNames: Object.keys(labels), registers: [this.#registry] }).set(labels, 1);
  }

  /** All of them in the text format of Prometheus, and its content type. */
  async scrape(): Promise<{ readonly type: string; readonly text: string }> {
    return { type: this.#registry.contentType, text: await this.#registry.metrics() };
  }
}

const sampled = <Metric extends Gauge | Counter>(
  put: (metric: Metric, value: number) => void,
  read: () => number | undefined,
) =>
  function collect(this: Metric): void {
    this.remove();
    const value = read();
    if (value !== undefined) put(this, value);
  };
