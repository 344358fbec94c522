import type { EventLog } from '../log/log.ts';
import type { LogStatus } from '../log/observer.ts';
import type { Metrics } from '../observe/metrics/metrics.ts';
import type { Watches } from '../plants/watch/watches.ts';
import type { PublisherThread } from '../publisher/thread.ts';
import type { Admission } from '../transport/admission/admission.ts';
import type { FollowedCertificates } from '../transport/grpc/certificates.ts';

/** Adds the metrics of the log's state and of remembered lists. */
export function logGauges(metrics: Metrics, log: EventLog): void {
  const gauge = (name: string, help: string, read: (status: LogStatus) => number | undefined) =>
    metrics.gauge(name, help, () => read(log.status));
  gauge('plantstore_commands_pending', 'Accepted commands without a result yet.', ({ pending }) => pending);
  gauge('plantstore_log_head_position', 'Position of the last event known to this instance.', ({ head }) => head);
  gauge(
    'plantstore_log_ahead_seconds',
    'By how much the time of the last event is ahead of the clock of this instance; 0 if it is not.',
    ({ time }) => Math.max(0, time - Date.now()) / 1000,
  );
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
    'Seconds since this instance first saw the oldest incomplete erasure; 0 if there is none.',
    ({ erasures: { since } }) => (since === undefined ? 0 : (performance.now() - since) / 1000),
  );
  gauge('plantstore_tail_events', 'Events kept in memory.', ({ tail }) => tail.events);
  gauge('plantstore_tail_bytes', 'Approximate memory of the events kept in memory.', ({ tail }) => tail.bytes);
  gauge(
    'plantstore_tail_limit_bytes',
    'Memory of the events kept in memory at which commands are refused.',
    ({ tail }) => tail.most,
  );
  gauge(
    'plantstore_follower_synced_age_seconds',
    'Seconds since the last successful read of the end of the log.',
    ({ syncedAt }) => syncedAt && (performance.now() - syncedAt) / 1000,
  );
  const role = (name: string, help: string, wanted: LogStatus['role']) =>
    gauge(name, help, (status) => status.role && Number(status.role === wanted));
  role('plantstore_writer', 'Whether this instance holds the writer lease: 1 or 0.', 'writer');
  role('plantstore_forwarding', 'Whether this instance is connected to the writer: 1 or 0.', 'forwards');
  metrics.total('plantstore_list_cache_hits_total', 'Lists served from the cache.', () => log.listCache.hits);
  metrics.total('plantstore_list_cache_misses_total', 'Lists read from the store.', () => log.listCache.misses);
  metrics.gauge('plantstore_list_cache_entries', 'Cached lists.', () => log.listCache.entries);
  metrics.gauge('plantstore_list_cache_bytes', 'Upper bound of the memory of cached lists.', () => log.listCache.bytes);
}

/** Adds the metrics of admission, of watches and of publication, which have no samples if events are not published. */
export function serviceGauges(
  metrics: Metrics,
  admission: Admission,
  watches: Watches,
  publication: PublisherThread | undefined,
): void {
  metrics.gauge('plantstore_requests_in_flight', 'Requests in flight, over all protocols.', () => admission.inFlight);
  metrics.gauge(
    'plantstore_requests_waiting',
    'Requests that wait for their turn or for a permit, over all protocols.',
    () => admission.waiting,
  );
  metrics.gauge(
    'plantstore_requests_held_bytes',
    'Upper bound of the memory of requests that are under way, over all protocols.',
    () => admission.held,
  );
  metrics.gauge('plantstore_watches', 'Open watches, over all protocols.', () => watches.statistics.open);
  metrics.total(
    'plantstore_watch_steps_total',
    'Steps sent to watches: plants of the initial state, and events. Each watch counts separately.',
    () => watches.statistics.steps,
  );
  metrics.total(
    'plantstore_watches_cut_off_total',
    'Watches that were ended because their readers fell 1 MiB behind.',
    () => watches.statistics.cutOff,
  );
  metrics.gauge(
    'plantstore_publisher_lag_events',
    'Events of the log that are not on the topic yet. Only the publishing instance reports it. Of an instance that has not reached Kafka since it took over: those since then, and no sample while there are none.',
    () => publication?.status().lagEvents,
  );
  metrics.gauge(
    'plantstore_publisher_lag_seconds',
    'Age of the oldest event of plantstore_publisher_lag_events; 0 if none waits.',
    () => publication?.status().lagSeconds,
  );
  metrics.gauge(
    'plantstore_publisher_degraded',
    'Whether this instance should publish but cannot: 1 or 0.',
    () => publication && Number(publication.status().state === 'degraded'),
  );
}

/** Adds the metric of the certificate that the gRPC port has in use. It has no sample without one of files. */
export function certificateGauge(metrics: Metrics, certificates: FollowedCertificates | undefined): void {
  metrics.gauge(
    'plantstore_grpc_certificate_expiry_timestamp_seconds',
    'Unix time at which the certificate of the gRPC port (GRPC_TLS_CERT) that is in use expires.',
    () => certificates && certificates.current.leaf.validToDate.getTime() / 1000,
  );
}
