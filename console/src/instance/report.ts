/** The state of an instance, from `/console/instance`. */
export interface Report {
  readonly version: string;
  readonly node: string;
  /** Milliseconds since the instance started. */
  readonly time: number;
  readonly status: 'ready' | 'not ready' | 'draining';
  readonly dependencies: readonly {
    readonly name: string;
    readonly ready: boolean;
    readonly degraded?: boolean;
    readonly detail?: string;
  }[];
  /** The values of the metrics by their names (docs/operations.md). One without a value is missing. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** The increase of a metric per second between two reports. Undefined unless both are of the same process. */
export function rateOf(report: Report, before: Report | undefined, metric: string): number | undefined {
  if (before === undefined || before.time >= report.time) return undefined;
  const increase = (report.metrics[metric] ?? 0) - (before.metrics[metric] ?? 0);
  return increase / ((report.time - before.time) / 1000);
}
