import type { Reason } from '../../domain/errors.ts';
import type { LogObserver, LogStatus } from '../../log/observer.ts';
import type { Metrics } from './metrics.ts';

/** The reasons of refusals that nobody but the service or its store can be to blame for. */
const ALERTED: readonly Reason[] = ['OVERLOADED', 'STORE_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'INTERNAL'];

/**
 * Adds the metrics of the commit path and of how the log stands, and returns what counts for them. `status` is asked at each
 * scrape; undefined while the log is not open. `reachable`: whether the last look at the store went well.
 */
export function logMetrics(
  metrics: Metrics,
  status: () => LogStatus | undefined,
  reachable: () => boolean,
): LogObserver & { fault(): void } {
  const size = metrics.histogram({
    name: 'plantstore_commit_batch_events',
    help: 'Events that one append put into the log.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
  });
  const duration = metrics.histogram({
    name: 'plantstore_commit_duration_seconds',
    help: 'Time of one append, until it is durable or given up, retries included.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const conflicts = metrics.counter({
    name: 'plantstore_commit_conflicts_total',
    help: 'Appends of which another instance took a position first; what was left was decided again.',
  });
  const refused = metrics.counter({
    name: 'plantstore_commands_refused_total',
    help: 'Commands that were not applied, or maybe not, by the reason that their caller got.',
    labelNames: ['reason'],
  });
  // A series that begins at its first refusal would hide that one from every rate.
  for (const reason of ALERTED) refused.inc({ reason }, 0);
  const faults = metrics.counter({
    name: 'plantstore_store_faults_total',
    help: 'Faults of the store that an append or the projector met and dealt with.',
  });
  gauges(metrics, status);
  metrics.gauge('plantstore_store_reachable', 'Whether the store could be reached at the last look: 1 or 0.', () =>
    Number(reachable()),
  );
  return {
    appended({ events, seconds, outcome }) {
      size.observe(events.length);
      duration.observe(seconds);
      if (outcome === 'conflict') conflicts.inc();
    },
    refused: (reason) => refused.inc({ reason }),
    fault: () => faults.inc(),
  };
}

function gauges(metrics: Metrics, status: () => LogStatus | undefined): void {
  const gauge = (name: string, help: string, read: (status: LogStatus) => number | undefined) =>
    metrics.gauge(name, help, () => {
      const now = status();
      return now && read(now);
    });
  gauge('plantstore_commands_pending', 'Commands that were taken and are not answered yet.', ({ pending }) => pending);
  gauge('plantstore_log_head_position', 'Position of the last event that this instance knows.', ({ head }) => head);
  gauge(
    'plantstore_read_model_position',
    'Position up to which the read model is folded, as far as this instance knows.',
    ({ checkpoint }) => checkpoint,
  );
  gauge(
    'plantstore_projector_lag_events',
    'Events that are in the log and not yet in the read model.',
    ({ head, checkpoint }) => head - checkpoint,
  );
  gauge('plantstore_erasures_pending', 'Erasures of owners that are not done.', ({ erasures }) => erasures.count);
  gauge(
    'plantstore_erasure_oldest_seconds',
    'Seconds since the oldest erasure that is not done was begun; 0: there is none.',
    ({ erasures: { since } }) => (since === undefined ? 0 : Math.max(0, Date.now() - since) / 1000),
  );
  gauge('plantstore_tail_events', 'Events that are held in memory.', ({ tail }) => tail.events);
  gauge('plantstore_tail_bytes', 'Roughly the memory that the events in memory take.', ({ tail }) => tail.bytes);
  gauge(
    'plantstore_follower_synced_timestamp_seconds',
    'Unix time of the last look at the end of the log that went well.',
    ({ syncedAt }) => syncedAt && syncedAt / 1000,
  );
}
