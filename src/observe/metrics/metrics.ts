import {
  Counter,
  type CounterConfiguration,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type HistogramConfiguration,
  type MetricValueWithName,
  Registry,
} from 'prom-client';

/** Prefix of gauges that begin anew at each scrape: of two Prometheus servers, each would miss what the other reads. */
const LOOP_DELAY = 'nodejs_eventloop_lag';

/** The longest time between two samples of that delay, in milliseconds: each wakes an idle process. */
const LONGEST_INTERVAL = 2 ** 31 - 1;

/**
 * The metrics of one service, in their own registry. `gauge` and `total` read existing state at each scrape; `counter`
 * and `histogram` count events as they happen. Names and units follow Prometheus: seconds, bytes, `_total` for
 * counters.
 */
export class Metrics {
  readonly #registry = new Registry();

  /** Adds the default metrics of the process and of Node: CPU, memory, garbage collection, the event loop. */
  constructor() {
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: LONGEST_INTERVAL });
    for (const { name } of this.#registry.getMetricsAsArray())
      if (name.startsWith(LOOP_DELAY)) this.#registry.removeSingleMetric(name);
    this.total(
      'nodejs_eventloop_active_seconds_total',
      'Time in which the event loop worked, and did not wait for something to do.',
      () => performance.eventLoopUtilization().active / 1_000,
    );
  }

  /** Adds a gauge, read at each scrape. While it is undefined, there is no sample. */
  gauge(name: string, help: string, read: () => number | undefined): void {
    this.#sampled(Gauge, name, help, read);
  }

  /** Adds a counter, read at each scrape. It must never decrease, and its name must end in `_total`. */
  total(name: string, help: string, read: () => number | undefined): void {
    this.#sampled(Counter, name, help, read);
  }

  /** Adds a counter. Each label must have few values. */
  counter<Label extends string>(options: CounterConfiguration<Label>): Counter<Label> {
    return new Counter({ ...options, registers: [this.#registry] });
  }

  /** Adds a histogram. Each label must have few values. */
  histogram<Label extends string>(options: HistogramConfiguration<Label>): Histogram<Label> {
    return new Histogram({ ...options, registers: [this.#registry] });
  }

  /** Adds a gauge of value 1 whose labels hold information, such as a version. */
  info(name: string, help: string, labels: Readonly<Record<string, string>>): void {
    new Gauge({ name, help, labelNames: Object.keys(labels), registers: [this.#registry] }).set(labels, 1);
  }

  /** The sum of each metric's samples by its name; of a histogram, that of `_count` and of `_sum`. */
  async values(): Promise<Readonly<Record<string, number>>> {
    const values: Record<string, number> = {};
    for (const { name, values: samples } of await this.#registry.getMetricsAsJSON())
      for (const { value, metricName = name } of samples as MetricValueWithName<string>[])
        if (!metricName.endsWith('_bucket')) values[metricName] = (values[metricName] ?? 0) + value;
    return values;
  }

  /** All metrics in the text format of Prometheus, and its content type. */
  async scrape(): Promise<{ readonly type: string; readonly text: string }> {
    return { type: this.#registry.contentType, text: await this.#registry.metrics() };
  }

  #sampled(Metric: typeof Gauge | typeof Counter, name: string, help: string, read: () => number | undefined): void {
    const registers = [this.#registry];
    const collect = () => {
      metric.remove();
      const value = read();
      if (value !== undefined) metric.inc(value);
    };
    const metric = new Metric({ name, help, registers, collect });
  }
}
