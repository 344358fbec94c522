import type { Reason } from '../../domain/errors.ts';
import type { LogObserver, LogStatus } from '../../log/observer.ts';
import type { Metrics } from './metrics.ts';

/** Reasons of refusals that only the service or its store can cause. */
const ALERTED: readonly Reason[] = ['OVERLOADED', 'STORE_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'INTERNAL'];

/** What is known of the store. */
interface StoreState {
  /** Whether the last access to it succeeded. */
  readonly reachable: () => boolean;
  /** Whether the log in it was found broken. */
  readonly broken: () => boolean;
  /** Whether its read model is of no use until it is repaired. */
  readonly readModelBroken: () => boolean;
  /** Whether no checkpoint is signed or cosigned, because the log does not extend what was signed before. */
  readonly signingStopped: () => boolean;
}

/**
 * Adds the metrics of commits and of the log's state, and returns their observer. Each scrape calls `status`, which is
 * undefined while the log is not open, and the functions of `store`.
 */
export function logMetrics(
  metrics: Metrics,
  status: () => LogStatus | undefined,
  store: StoreState,
): LogObserver & { fault(): void } {
  const size = metrics.histogram({
    name: 'plantstore_commit_batch_events',
    help: 'Events per append to the log.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
  });
  const duration = metrics.histogram({
    name: 'plantstore_commit_duration_seconds',
    help: 'Time of one append until it is durable or has failed, including retries.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const conflicts = metrics.counter({
    name: 'plantstore_commit_conflicts_total',
    help: 'Appends that conflicted with one of another instance; their remaining commands were decided again.',
  });
  const refused = metrics.counter({
    name: 'plantstore_commands_refused_total',
    help: 'Commands that were not, or may not have been, applied, by the reason returned to the caller.',
    labelNames: ['reason'],
  });
  // Without an initial 0, the first refusal would be invisible to rate().
  for (const reason of ALERTED) refused.inc({ reason }, 0);
  const faults = metrics.counter({
    name: 'plantstore_store_faults_total',
    help: 'Faults of the store that an append or the projector handled.',
  });
  gauges(metrics, status);
  metrics.gauge('plantstore_store_reachable', 'Whether the last access to the store succeeded: 1 or 0.', () =>
    Number(store.reachable()),
  );
  metrics.gauge(
    'plantstore_log_broken',
    'Whether this instance has found since its start that the stored log is not what was written, or was replaced: 1 or 0.',
    () => Number(store.broken()),
  );
  metrics.gauge(
    'plantstore_read_model_broken',
    'Whether the read model cannot be used until it is repaired: 1 or 0.',
    () => Number(store.readModelBroken()),
  );
  metrics.gauge(
    'plantstore_signing_stopped',
    'Whether no checkpoint is signed or cosigned, because the log does not extend what was signed before: 1 or 0.',
    () => Number(store.signingStopped()),
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
  gauge('plantstore_commands_pending', 'Accepted commands without a result yet.', ({ pending }) => pending);
  gauge('plantstore_log_head_position', 'Position of the last event known to this instance.', ({ head }) => head);
  gauge(
    'plantstore_read_model_position',
    'Checkpoint of the read model, as known to this instance.',
    ({ checkpoint }) => checkpoint,
  );
  gauge(
    'plantstore_projector_lag_events',
    'Events in the log that are not yet in the read model.',
    ({ head, checkpoint }) => head - checkpoint,
  );
  gauge('plantstore_erasures_pending', 'Erasures of owners that are not complete.', ({ erasures }) => erasures.count);
  gauge(
    'plantstore_erasure_oldest_seconds',
    'Seconds since the start of the oldest incomplete erasure; 0 if there is none.',
    ({ erasures: { since } }) => (since === undefined ? 0 : Math.max(0, Date.now() - since) / 1000),
  );
  gauge('plantstore_tail_events', 'Events kept in memory.', ({ tail }) => tail.events);
  gauge('plantstore_tail_bytes', 'Approximate memory of the events kept in memory.', ({ tail }) => tail.bytes);
  gauge(
    'plantstore_tail_limit_bytes',
    'Memory of the events kept in memory at which commands are refused.',
    ({ tail }) => tail.most,
  );
  gauge(
    'plantstore_follower_synced_timestamp_seconds',
    'Unix time of the last successful read of the end of the log.',
    ({ syncedAt }) => syncedAt && syncedAt / 1000,
  );
}
