import type { OnDecision } from '../../auth/authenticator.ts';
import type { Reason } from '../../domain/errors.ts';
import type { ForwardObserver, LogObserver } from '../../log/observer.ts';
import type { Logger } from '../logger.ts';
import { type EndedRequest, PROTOCOLS, type Protocol, SHED_REASONS, type ShedReason } from '../request.ts';
import type { Metrics } from './metrics.ts';

const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const COMMAND_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Reasons of refusals that only the service or its store can cause. */
const ALERTED: readonly Reason[] = ['OVERLOADED', 'STORE_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'INTERNAL'];

/** Adds the metrics of requests, and returns functions that count an ended one and one that was shed. */
export function requestMetrics(metrics: Metrics) {
  const duration = metrics.histogram({
    name: 'plantstore_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its response. For a stream, that is as long as it is read.',
    labelNames: ['protocol', 'method', 'route', 'status'],
    buckets: REQUEST_SECONDS,
  });
  const shed = metrics.counter({
    name: 'plantstore_requests_shed_total',
    help: 'Requests that were refused, and connections that were ended, because the instance was overloaded, by reason.',
    labelNames: ['protocol', 'reason'],
  });
  // Without an initial 0, the first refusal would be invisible to rate().
  for (const protocol of PROTOCOLS) for (const reason of SHED_REASONS) shed.inc({ protocol, reason }, 0);
  return {
    ended: ({ protocol, method, route, status, seconds }: EndedRequest) =>
      duration.observe({ protocol, method, route, status }, seconds),
    shed: (protocol: Protocol, reason: ShedReason) => shed.inc({ protocol, reason }),
  };
}

/** Adds the metrics of decisions on tokens and of fetches of keys, and returns functions that count one. */
export function authMetrics(metrics: Metrics, onFailure: (failure: Error) => void) {
  const decisions = metrics.counter({
    name: 'plantstore_authentication_decisions_total',
    help: 'Tokens accepted or refused, by reason. Excludes tokens found in the token cache.',
    labelNames: ['outcome', 'reason'],
  });
  const fetches = metrics.counter({
    name: 'plantstore_jwks_fetches_total',
    help: "Fetches of the issuer's keys, by outcome.",
    labelNames: ['outcome'],
  });
  let fetchedAt: number | undefined;
  metrics.gauge(
    'plantstore_jwks_fetched_age_seconds',
    "Seconds since the last successful fetch of the issuer's keys.",
    () => fetchedAt && (performance.now() - fetchedAt) / 1000,
  );
  const decided: OnDecision = (refused) =>
    decisions.inc({ outcome: refused === undefined ? 'accepted' : 'refused', reason: refused ?? 'none' });
  return {
    decided,
    fetched(failure: Error | undefined) {
      fetches.inc({ outcome: failure === undefined ? 'success' : 'failure' });
      if (failure === undefined) fetchedAt = performance.now();
      else onFailure(failure);
    },
  };
}

/** Adds the metrics of commands between instances, and returns their observer. `refused` counts a refused one. */
export function forwardMetrics(metrics: Metrics, refused: LogObserver['refused']): ForwardObserver {
  const forwarded = metrics.counter({
    name: 'plantstore_commands_forwarded_total',
    help: 'Commands that this instance forwarded to the writer, by outcome: applied, refused, returned (and sent again) or lost (and resolved here).',
    labelNames: ['outcome'],
  });
  for (const outcome of ['applied', 'refused', 'returned', 'lost']) forwarded.inc({ outcome }, 0);
  const taken = metrics.counter({
    name: 'plantstore_commands_taken_total',
    help: 'Commands that this instance, as the writer, received from other instances.',
  });
  const duration = metrics.histogram({
    name: 'plantstore_forward_duration_seconds',
    help: 'Time of a forwarded command, from its submission to the response of the writer.',
    buckets: COMMAND_SECONDS,
  });
  return {
    forwarded(outcome, seconds, reason) {
      forwarded.inc({ outcome });
      if (seconds !== undefined) duration.observe(seconds);
      if (reason !== undefined) refused(reason);
    },
    taken: (commands) => taken.inc(commands),
  };
}

/** Adds the metrics of commits, and returns their observer, which counts faults of the store, too. */
export function commitMetrics(metrics: Metrics): LogObserver & { fault(): void } {
  const size = metrics.histogram({
    name: 'plantstore_commit_batch_events',
    help: 'Events per append to the log.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
  });
  const duration = metrics.histogram({
    name: 'plantstore_commit_duration_seconds',
    help: 'Time of one append until it is durable or has failed, including retries.',
    buckets: COMMAND_SECONDS,
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
  for (const reason of ALERTED) refused.inc({ reason }, 0);
  const faults = metrics.counter({
    name: 'plantstore_store_faults_total',
    help: 'Faults of the store that an append or the projector handled.',
  });
  return {
    appended(events, seconds, outcome) {
      size.observe(events);
      duration.observe(seconds);
      if (outcome === 'conflict') conflicts.inc();
    },
    refused: (reason) => refused.inc({ reason }),
    fault: () => faults.inc(),
  };
}

type Outcome = 'cosigned' | 'late' | 'ahead' | 'forked' | 'failed';

/** The outcomes that say something about the log, and not only about the witness. */
const GRAVE: readonly Outcome[] = ['ahead', 'forked'];

/** Adds the metric of requests to these witnesses. Returns what counts one, and logs each change of its outcome. */
export function witnessMetrics(
  metrics: Metrics,
  logger: Logger,
  witnesses: readonly string[],
): (witness: string, outcome: Outcome, error: unknown) => void {
  const requests = metrics.counter({
    name: 'plantstore_witness_requests_total',
    help: 'Requests to witnesses for a cosignature, by outcome. late: another instance had shown the witness a newer checkpoint. ahead: the witness has cosigned a larger checkpoint than the log has. forked: the log does not extend the checkpoint that the witness has cosigned.',
    labelNames: ['witness', 'outcome'],
  });
  for (const witness of witnesses) for (const outcome of GRAVE) requests.inc({ witness, outcome }, 0);
  const failing = new Map<string, Outcome>();
  return (witness, outcome, err) => {
    requests.inc({ witness, outcome });
    if (outcome === 'cosigned') {
      if (failing.delete(witness)) logger.info({ witness }, 'the witness cosigns again');
    } else if (outcome !== 'late' && failing.get(witness) !== outcome) {
      failing.set(witness, outcome);
      logger[GRAVE.includes(outcome) ? 'error' : 'warn']({ witness, err }, 'the witness did not cosign');
    }
  };
}
