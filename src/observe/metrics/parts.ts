import type { ListCacheStatistics } from '../../log/view/list-cache.ts';
import { PROTOCOLS, type Protocol, SHED_REASONS, type ShedReason } from '../request.ts';
import type { Metrics } from './metrics.ts';

/** Status of the publication of events. */
export interface PublicationStatus {
  readonly state: string;
  /** Undefined while this instance does not know. */
  readonly lagEvents: number | undefined;
  readonly lagSeconds: number | undefined;
}

/** Requests that are served and that wait, and the bytes of all that are under way. */
export interface AdmissionStatus {
  readonly inFlight: number;
  readonly waiting: number;
  readonly held: number;
}

/** Statistics of watches. */
export interface WatchStatus {
  readonly open: number;
  readonly steps: number;
  readonly cutOff: number;
}

/** Statistics of the service's log lines. */
export interface LineStatistics {
  readonly dropped: number;
}

/** Adds the metrics of the list cache. Each scrape calls `status`. */
export function listCacheMetrics(metrics: Metrics, status: () => ListCacheStatistics | undefined): void {
  metrics.total('plantstore_list_cache_hits_total', 'Lists served from the cache.', () => status()?.hits);
  metrics.total('plantstore_list_cache_misses_total', 'Lists read from the store.', () => status()?.misses);
  metrics.gauge('plantstore_list_cache_entries', 'Cached lists.', () => status()?.entries);
  metrics.gauge('plantstore_list_cache_bytes', 'Upper bound of the memory of cached lists.', () => status()?.bytes);
}

/** Adds the metrics of admission, and returns a function that counts a shed request. Each scrape calls `status`. */
export function admissionMetrics(
  metrics: Metrics,
  status: () => AdmissionStatus | undefined,
): (protocol: Protocol, reason: ShedReason) => void {
  metrics.gauge('plantstore_requests_in_flight', 'Requests in flight, over all protocols.', () => status()?.inFlight);
  metrics.gauge(
    'plantstore_requests_waiting',
    'Requests that wait for their turn or for a permit, over all protocols.',
    () => status()?.waiting,
  );
  metrics.gauge(
    'plantstore_requests_held_bytes',
    'Upper bound of the memory of requests that are under way, over all protocols.',
    () => status()?.held,
  );
  const shed = metrics.counter({
    name: 'plantstore_requests_shed_total',
    help: 'Requests that were refused, and connections that were ended, because the instance was overloaded, by reason.',
    labelNames: ['protocol', 'reason'],
  });
  // Without an initial 0, the first refusal would be invisible to rate().
  for (const protocol of PROTOCOLS) for (const reason of SHED_REASONS) shed.inc({ protocol, reason }, 0);
  return (protocol, reason) => shed.inc({ protocol, reason });
}

/** Adds the metrics of watches. Each scrape calls `status`. */
export function watchMetrics(metrics: Metrics, status: () => WatchStatus | undefined): void {
  metrics.gauge('plantstore_watches', 'Open watches, over all protocols.', () => status()?.open);
  metrics.total(
    'plantstore_watch_steps_total',
    'Steps sent to watches: plants of the initial state, and events. Each watch counts separately.',
    () => status()?.steps,
  );
  metrics.total(
    'plantstore_watches_cut_off_total',
    'Watches that were ended because their readers fell 1 MiB behind.',
    () => status()?.cutOff,
  );
}

/** Adds the metrics of publication. Each scrape calls `status`, which is undefined if events are not published. */
export function publicationMetrics(metrics: Metrics, status: () => PublicationStatus | undefined): void {
  metrics.gauge(
    'plantstore_publisher_lag_events',
    'Events of the log that are not on the topic yet. Only the publishing instance reports it.',
    () => status()?.lagEvents,
  );
  metrics.gauge(
    'plantstore_publisher_lag_seconds',
    'Age of the oldest event that is not on the topic yet; 0 if there is none.',
    () => status()?.lagSeconds,
  );
  metrics.gauge('plantstore_publisher_degraded', 'Whether this instance should publish but cannot: 1 or 0.', () => {
    const now = status();
    return now && Number(now.state === 'degraded');
  });
}

/** Adds the metric of the service's log lines. */
export function lineMetrics(metrics: Metrics, lines: LineStatistics): void {
  metrics.total(
    'plantstore_log_lines_dropped_total',
    "Lines of the service's log that were dropped because stdout was not read in time.",
    () => lines.dropped,
  );
}
