import type { Logger } from '../logger.ts';
import type { Metrics } from './metrics.ts';

/** Outcome of a request to a witness. */
type Outcome = 'cosigned' | 'ahead' | 'forked' | 'failed';

/** The outcomes that say something about the log, and not only about the witness. */
const GRAVE: readonly Outcome[] = ['ahead', 'forked'];

/**
 * Adds the metric of requests to witnesses, and returns a function that counts one. It logs a witness's first failure,
 * each failure with another outcome than the last, and the first success after it.
 */
export function witnessMetrics(
  metrics: Metrics,
  logger: Logger,
): (witness: string, outcome: Outcome, error: unknown) => void {
  const requests = metrics.counter({
    name: 'plantstore_witness_requests_total',
    help: 'Requests to witnesses for a cosignature, by outcome. ahead: the witness has cosigned a larger checkpoint than the log has. forked: the log does not extend the checkpoint that the witness has cosigned.',
    labelNames: ['witness', 'outcome'],
  });
  const failing = new Map<string, Outcome>();
  return (witness, outcome, err) => {
    requests.inc({ witness, outcome });
    if (outcome === 'cosigned') {
      if (failing.delete(witness)) logger.info({ witness }, 'the witness cosigns again');
    } else if (failing.get(witness) !== outcome) {
      failing.set(witness, outcome);
      logger[GRAVE.includes(outcome) ? 'error' : 'warn']({ witness, err }, 'the witness did not cosign');
    }
  };
}
