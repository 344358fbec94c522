import type { Decision } from '../../auth/authenticator.ts';
import type { Metrics } from './metrics.ts';

/** What is known of authentication; undefined before the service has got so far. */
export interface AuthenticationStatus {
  /** Calls that were let in by a token that had been verified before. */
  readonly cacheHits: number;
  /** Whether there are keys to judge tokens by. */
  readonly ready: boolean;
}

/** What counts for the metrics of authentication. */
export interface AuthenticationObserver {
  decided(decision: Decision): void;
  /** A fetch of the issuer's keys has ended. */
  fetched(failure: Error | undefined): void;
}

/** Adds the metrics of authentication, and returns what counts for them. `status` is asked at each scrape. */
export function authMetrics(metrics: Metrics, status: () => AuthenticationStatus | undefined): AuthenticationObserver {
  let fetchedAt: number | undefined;
  const decisions = metrics.counter({
    name: 'plantstore_authentication_decisions_total',
    help: 'Tokens that were verified or refused, and why; those of the token cache are not verified again.',
    labelNames: ['outcome', 'reason'],
  });
  metrics.total(
    'plantstore_token_cache_hits_total',
    'Calls that were let in by a token that had been verified before.',
    () => status()?.cacheHits,
  );
  metrics.gauge('plantstore_jwks_ready', 'Whether there are keys to verify tokens with: 1 or 0.', () =>
    Number(status()?.ready ?? false),
  );
  const fetches = metrics.counter({
    name: 'plantstore_jwks_fetches_total',
    help: "Fetches of the issuer's keys, by outcome.",
    labelNames: ['outcome'],
  });
  metrics.gauge(
    'plantstore_jwks_fetched_timestamp_seconds',
    "Unix time of the last fetch of the issuer's keys that went well.",
    () => fetchedAt,
  );
  return {
    decided: ({ outcome, reason = 'none' }) => decisions.inc({ outcome, reason }),
    fetched(failure) {
      fetches.inc({ outcome: failure === undefined ? 'success' : 'failure' });
      if (failure === undefined) fetchedAt = Date.now() / 1000;
    },
  };
}
