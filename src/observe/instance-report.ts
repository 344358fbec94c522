import type { LogStatus } from '../log/observer.ts';
import type { ListCacheStatistics } from '../log/view/list-cache.ts';
import type { Dependency, Health } from './health.ts';
import type { AdmissionStatus, PublicationStatus, WatchStatus } from './metrics/parts.ts';
import type { CosigningStatus } from './metrics/witnesses.ts';
import type { Sources, Telemetry } from './telemetry.ts';

/**
 * The state of an instance, for people, without access to the store. A member is missing if its part is off or has not
 * started.
 */
export interface InstanceReport {
  readonly version: string;
  readonly node: string;
  /** Milliseconds since the instance started. Compute rates from the difference of two reports. */
  readonly time: number;
  readonly status: 'ready' | 'not ready' | 'draining';
  readonly dependencies: readonly Dependency[];
  readonly process: {
    readonly memoryBytes: number;
    readonly cpuSeconds: number;
  };
  readonly requests: AdmissionStatus & { readonly ended: number };
  readonly log?: LogStatus;
  readonly listCache?: ListCacheStatistics;
  readonly watches?: WatchStatus;
  readonly publication?: PublicationStatus;
  readonly cosigning?: CosigningStatus;
}

const MICROSECONDS = 1_000_000;

/** Creates the report. */
export function instanceReport(
  health: Health,
  sources: Sources,
  { version, endedRequests }: Pick<Telemetry, 'version' | 'endedRequests'>,
): InstanceReport {
  const { user, system } = process.cpuUsage();
  const { inFlight = 0, waiting = 0, held = 0 } = sources.admission() ?? {};
  const [log, listCache, watches] = [sources.log(), sources.listCache(), sources.watches()];
  const [publication, cosigning] = [sources.publication(), sources.cosigning()];
  return {
    version,
    node: process.version,
    time: performance.now(),
    status: health.draining ? 'draining' : health.ready ? 'ready' : 'not ready',
    dependencies: health.dependencies(),
    process: {
      memoryBytes: process.memoryUsage.rss(),
      cpuSeconds: (user + system) / MICROSECONDS,
    },
    requests: { inFlight, waiting, held, ended: endedRequests },
    ...(log && { log }),
    ...(listCache && { listCache }),
    ...(watches && { watches }),
    ...(publication && { publication }),
    ...(cosigning && { cosigning }),
  };
}
