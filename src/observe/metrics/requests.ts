import type { EndedRequest } from '../request.ts';
import type { Metrics } from './metrics.ts';

const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Adds the metric of requests, and returns a function that counts one. */
export function requestMetrics(metrics: Metrics): (request: EndedRequest) => void {
  const duration = metrics.histogram({
    name: 'plantstore_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its response. For a stream, that is as long as it is read.',
    labelNames: ['protocol', 'method', 'route', 'status'],
    buckets: BUCKETS,
  });
  return ({ protocol, method, route, status, seconds }) =>
    duration.observe({ protocol, method, route, status }, seconds);
}
