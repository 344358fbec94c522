import type { Decision } from '../../auth/authenticator.ts';
import type { Metrics } from './metrics.ts';

/** Status of authentication. */
export interface AuthenticationStatus {
  /** Calls that the token cache admitted. */
  readonly cacheHits: number;
  /** Whether there are keys to verify tokens with. */
  readonly ready: boolean;
}

/** Updates the metrics of authentication. */
export interface AuthenticationObserver {
  decided(decision: Decision): void;
  /** A fetch of the issuer's keys has ended. */
  fetched(failure: Error | undefined): void;
}

/**
 * Adds the metrics of authentication, and returns their observer. Each scrape calls `status`; undefined before
 * authentication starts.
 */
export function authMetrics(metrics: Metrics, status: () => AuthenticationStatus | undefined): AuthenticationObserver {
  let fetchedAt: number | undefined;
  const decisions = metrics.counter({
    name: 'plantstore_authentication_decisions_total',
    help: 'Tokens accepted or refused, by reason. Excludes tokens found in the token cache.',
    labelNames: ['outcome', 'reason'],
  });
  metrics.total('plantstore_token_cache_hits_total', 'Calls admitted by the token cache.', () => status()?.cacheHits);
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
    "Unix time of the last successful fetch of the issuer's keys.",
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
