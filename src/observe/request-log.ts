import { hash } from 'node:crypto';
import type { Principal } from '../auth/principal.ts';
import type { Logger } from './logger.ts';
import { type EndedRequest, failureFields } from './request.ts';

/** Hexadecimal digits of an owner's hash: enough to tell owners apart. */
const DIGITS = 16;

/**
 * What writes one line for a request, at level info. With `owners`, the line has a hash of the owner, by which the requests of one
 * can be found: whoever knows an owner's name can tell its hash, and nobody reads a name from a log.
 */
export function requestLog(logger: Logger, owners: boolean): (request: EndedRequest) => void {
  // The fields are names and numbers of ours, so nothing has to be looked for by path, which costs more than all the rest of a line.
  const lines = logger.child({}, { redact: [] });
  const hashes = new WeakMap<Principal, string>();
  const hashOf = (principal: Principal): string => {
    const known = hashes.get(principal);
    if (known !== undefined) return known;
    const digest = ownerHash(principal.owner);
    hashes.set(principal, digest);
    return digest;
  };
  return (ended) => {
    if (!lines.isLevelEnabled('info') || isProbe(ended)) return;
    const { principal, failure, seconds, ...request } = ended;
    lines.info(
      {
        ...request,
        ...(failure && failureFields(failure)),
        ...(owners && principal !== undefined && { owner: hashOf(principal) }),
        milliseconds: Math.round(seconds * 1e6) / 1e3,
      },
      'request',
    );
  };
}

/** An answered health check, of which there is one every few seconds from each who asks. */
const isProbe = ({ route, status }: EndedRequest): boolean => status === 'OK' && route.startsWith('/grpc.health.');

/** An owner as the log names it: the start of the SHA-256 of the owner's UTF-8, in hexadecimal. */
export const ownerHash = (owner: string): string => hash('sha256', owner).slice(0, DIGITS);
