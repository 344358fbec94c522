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
    readonly tail: { readonly events: number; readonly bytes: number };
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
  readonly cosigning?: { readonly size?: number };
}

/**
 * The increase of a count per second between two reports. Undefined without an earlier one of the same process, whose
 * time begins at its start.
 */
export function rateOf(report: Report, before: Report | undefined, count: (of: Report) => number): number | undefined {
  if (before === undefined || before.time >= report.time) return undefined;
  return (count(report) - count(before)) / ((report.time - before.time) / 1000);
}
