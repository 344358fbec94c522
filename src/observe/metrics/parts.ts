import type { ListCacheStatistics } from '../../log/view/list-cache.ts';
import { PROTOCOLS, type Protocol, SHED_REASONS, type ShedReason } from '../request.ts';
import type { Metrics } from './metrics.ts';

/** How the publication of events stands. */
export interface PublicationStatus {
  readonly state: string;
  /** Undefined while this instance does not know. */
  readonly lagEvents: number | undefined;
  readonly lagSeconds: number | undefined;
}

/** What was let in, and what waits to be. */
export interface AdmissionStatus {
  readonly inFlight: number;
  readonly waiting: number;
  readonly arriving: number;
}

/** Streams of changes to owners' plants. */
export interface WatchStatus {
  readonly open: number;
  readonly steps: number;
  readonly cutOff: number;
}

/** What became of the lines of the service's own log. */
export interface LineStatistics {
  readonly dropped: number;
}

/** Adds the metrics of the lists that are remembered. `status` is asked at each scrape. */
export function listCacheMetrics(metrics: Metrics, status: () => ListCacheStatistics | undefined): void {
  metrics.total('plantstore_list_cache_hits_total', 'Lists that were answered from memory.', () => status()?.hits);
  metrics.total('plantstore_list_cache_misses_total', 'Lists that had to be read.', () => status()?.misses);
  metrics.gauge('plantstore_list_cache_entries', 'Lists that are remembered.', () => status()?.entries);
  metrics.gauge('plantstore_list_cache_bytes', 'Most memory that they take.', () => status()?.bytes);
}

/** Adds the metrics of admission, and returns what counts a request that was refused. `status` is asked at each scrape. */
export function admissionMetrics(
  metrics: Metrics,
  status: () => AdmissionStatus | undefined,
): (protocol: Protocol, reason: ShedReason) => void {
  metrics.gauge(
    'plantstore_requests_in_flight',
    'Requests of all protocols that are being served.',
    () => status()?.inFlight,
  );
  metrics.gauge(
    'plantstore_requests_waiting',
    'Requests of all protocols that wait to be served.',
    () => status()?.waiting,
  );
  metrics.gauge(
    'plantstore_requests_arriving',
    'Requests of all protocols whose callers are known and whose rest does not come. They are not in flight.',
    () => status()?.arriving,
  );
  const shed = metrics.counter({
    name: 'plantstore_requests_shed_total',
    help: 'Requests for which nothing was done, and why: they were refused, or their clients left. No other metric has those that were never let in, but for grpc.',
    labelNames: ['protocol', 'reason'],
  });
  // A series that begins at its first refusal would hide that one from every rate.
  for (const protocol of PROTOCOLS) for (const reason of SHED_REASONS) shed.inc({ protocol, reason }, 0);
  return (protocol, reason) => shed.inc({ protocol, reason });
}

/** Adds the metrics of watches. `status` is asked at each scrape. */
export function watchMetrics(metrics: Metrics, status: () => WatchStatus | undefined): void {
  metrics.gauge('plantstore_watches', 'Streams of changes that are open, over all protocols.', () => status()?.open);
  metrics.total(
    'plantstore_watch_steps_total',
    'Steps that were told, to each stream for itself: plants of the state, and events.',
    () => status()?.steps,
  );
  metrics.total(
    'plantstore_watches_cut_off_total',
    'Streams that were cut off because their readers fell 1 MiB behind.',
    () => status()?.cutOff,
  );
}

/** Adds the metrics of publication. `status` is asked at each scrape; undefined where events are published nowhere. */
export function publicationMetrics(metrics: Metrics, status: () => PublicationStatus | undefined): void {
  metrics.gauge(
    'plantstore_publisher_lag_events',
    'Events of the log that are not on the topic yet. Known to the instance that publishes.',
    () => status()?.lagEvents,
  );
  metrics.gauge(
    'plantstore_publisher_lag_seconds',
    'Age of the oldest event that is not on the topic yet; 0 when there is none.',
    () => status()?.lagSeconds,
  );
  metrics.gauge('plantstore_publisher_degraded', 'Whether this instance should publish and cannot: 1 or 0.', () => {
    const now = status();
    return now && Number(now.state === 'degraded');
  });
}

/** Adds the metric of the lines of the service's own log. */
export function lineMetrics(metrics: Metrics, lines: LineStatistics): void {
  metrics.total(
    'plantstore_log_lines_dropped_total',
    "Lines of the service's own log that were dropped, as nobody read them in time.",
    () => lines.dropped,
  );
}
