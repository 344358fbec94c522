import type { EventLog } from '../log/log.ts';
import type { Health } from '../observe/health.ts';
import { VERSION } from '../observe/version.ts';
import type { Watches } from '../plants/watch/watches.ts';
import type { PublisherThread } from '../publisher/thread.ts';
import type { CosignedCheckpoints } from '../transparency/cosigned-checkpoints.ts';
import type { Admission } from '../transport/admission/admission.ts';

/** The parts of an instance that report. */
export interface ReportingParts {
  readonly health: Health;
  readonly telemetry: { readonly endedRequests: number };
  readonly admission: Admission;
  readonly log: EventLog;
  readonly watches: Watches;
  readonly publication: PublisherThread | undefined;
  readonly cosigned: CosignedCheckpoints | undefined;
}

const MICROSECONDS = 1_000_000;

/**
 * The state of an instance, for people, without access to the store. A member is undefined if its part is off. `time`:
 * milliseconds since the instance started; compute rates from the difference of two reports.
 */
export function instanceReport(parts: ReportingParts) {
  const { health, telemetry, admission, log, watches, publication, cosigned } = parts;
  const { user, system } = process.cpuUsage();
  const { inFlight, waiting, held } = admission;
  return {
    version: VERSION,
    node: process.version,
    time: performance.now(),
    status: health.status,
    dependencies: health.dependencies(),
    process: {
      memoryBytes: process.memoryUsage.rss(),
      cpuSeconds: (user + system) / MICROSECONDS,
    },
    requests: { inFlight, waiting, held, ended: telemetry.endedRequests },
    log: log.status,
    listCache: log.listCache,
    watches: watches.statistics,
    publication: publication?.stats(),
    cosigning: cosigned?.status,
  };
}
