/** The state of an instance, from `/console/instance`. A missing member does not exist, or not yet. */
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
    readonly since: string;
  }[];
  readonly process: { readonly memoryBytes: number; readonly cpuSeconds: number };
  readonly requests: {
    readonly inFlight: number;
    readonly waiting: number;
    /** Bytes that requests under way hold. */
    readonly held: number;
    readonly ended: number;
  };
  readonly log?: {
    readonly head: number;
    readonly checkpoint: number;
    readonly pending: number;
    readonly tail: { readonly events: number; readonly bytes: number; readonly most: number };
    readonly erasures: { readonly count: number };
    readonly role?: 'writer' | 'forwards' | 'alone';
  };
  readonly listCache?: {
    readonly hits: number;
    readonly misses: number;
    readonly entries: number;
    readonly bytes: number;
  };
  readonly watches?: { readonly open: number };
  readonly publication?: { readonly state: string; readonly lagEvents?: number; readonly lagSeconds?: number };
  readonly cosigning?: { readonly size?: number; readonly since: number };
}

/** A value at a time. */
export interface Sample {
  readonly time: number;
  readonly value: number;
}

/** The reports of a span of time up to a new one. Drops those of an earlier process, with its own time. */
export const upTo = (report: Report, before: readonly Report[], span: number): Report[] => [
  ...before.filter(({ time }) => time < report.time && time > report.time - span),
  report,
];

/** The increase of a count per second, from each report to the next. */
export function rates(reports: readonly Report[], count: (report: Report) => number): Sample[] {
  return reports.slice(1).map((report, index) => {
    const before = reports[index]!;
    const seconds = (report.time - before.time) / 1000;
    const more = count(report) - count(before);
    return { time: report.time, value: Math.max(0, more / seconds) };
  });
}
