import type { Decision } from '../auth/authenticator.ts';
import type { Logger } from './logger.ts';
import { ownerHash } from './request-log.ts';

/** Writes a line for each decision on a token: a refusal as info, an acceptance as debug. With `owners`, with a hash. */
export function decisionLog(logger: Logger, owners: boolean): (decision: Decision) => void {
  // Redaction by path is off, because a decision contains only names of the service and two claims.
  const lines = logger.child({}, { redact: [] });
  return (decision) => {
    const { subject, ...rest } = decision;
    const level = decision.outcome === 'refused' ? 'info' : 'debug';
    if (!lines.isLevelEnabled(level)) return;
    lines[level](
      { decision: { ...rest, ...(owners && subject !== undefined && { subject: ownerHash(subject) }) } },
      'authentication',
    );
  };
}
