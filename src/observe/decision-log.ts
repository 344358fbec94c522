import type { Decision } from '../auth/authenticator.ts';
import type { Logger } from './logger.ts';
import type { OwnerHashes } from './owner-hashes.ts';
import { sampleUnknown } from './request-log.ts';

/**
 * Writes a line for each decision on a token: a refusal as info, an acceptance as debug. Refusals of callers who are
 * not known are sampled, by reason.
 */
export function decisionLog(logger: Logger, owners: OwnerHashes): (decision: Decision) => void {
  // Redaction by path is off, because a decision contains only names of the service and two claims.
  const lines = logger.child({}, { redact: [] });
  const sample = sampleUnknown();
  return (decision) => {
    const { subject, ...rest } = decision;
    const level = decision.outcome === 'refused' ? 'info' : 'debug';
    if (!lines.isLevelEnabled(level)) return;
    const isKnown = decision.outcome === 'accepted' || decision.reason === 'insufficient_scope';
    const repeated = isKnown ? 0 : sample(String(decision.reason));
    if (repeated === undefined) return;
    lines[level](
      {
        decision: { ...rest, subject: subject && owners.of(subject) },
        ...(repeated > 0 && { repeated }),
      },
      'authentication',
    );
  };
}
