import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { Principal } from '../auth/principal.ts';
import { Refusal } from '../auth/refusal.ts';
import type { Logger } from './logger.ts';
import type { EndedRequest } from './request.ts';
import { sampler } from './sparing.ts';

/** Milliseconds, and most lines within them of one kind of request without a known caller. */
const INTERVAL = 60_000;
const MAX_LINES = 100;

/**
 * A function that writes one line per request, at level info. Requests without a known caller are sampled, by status,
 * reason and why.
 */
export function requestLog(logger: Logger, owners: OwnerHashes): (request: EndedRequest) => void {
  // Callers without a token must not be able to write a line each time.
  const sample = sampler(INTERVAL, MAX_LINES);
  return (ended) => {
    if (!logger.isLevelEnabled('info') || isProbe(ended)) return;
    const { protocol, method, route, status, principal, failure, seconds, bytes, requestId, traceId } = ended;
    const reason = failure?.reason;
    const refusal = failure instanceof Refusal ? failure : undefined;
    const repeated = principal === undefined ? sample([status, reason, refusal?.why].join()) : 0;
    if (repeated === undefined) return;
    // A member has one type in all lines: the name of a google.rpc.Code is not the status of HTTP.
    const isCode = !/^\d+$/.test(status);
    logger.info(
      {
        protocol,
        method,
        route,
        status: isCode ? undefined : Number(status),
        code: isCode ? status : undefined,
        bytes,
        requestId,
        traceId,
        owner: principal && owners.ofCaller(principal),
        milliseconds: Math.round(seconds * 1e6) / 1e3,
        repeated: repeated || undefined,
        reason,
        why: refusal?.why,
        subject: refusal?.subject && owners.of(refusal.subject),
      },
      'request',
    );
  };
}

/** Whether the request is a successful health check. Each prober sends one every few seconds. */
const isProbe = ({ route, status }: EndedRequest): boolean => status === 'OK' && route.startsWith('/grpc.health.');

/** Hexadecimal digits of a hash: enough to distinguish owners. */
const HASH_DIGITS = 16;

/**
 * How log lines name owners and subjects: by the first 16 hexadecimal digits of HMAC-SHA-256(key, UTF-8 of the name).
 * Without the key, nobody can find out whom a line names by trying names.
 */
export class OwnerHashes {
  #key: KeyObject | undefined;
  #known = new WeakMap<Principal, string>();

  /** Replaces the key. Undefined, as at first: lines name nobody. */
  set key(key: Uint8Array | undefined) {
    // Of a key in bytes, Node would make such an object for each hash: 9 us, of 11.
    this.#key = key && createSecretKey(key);
    this.#known = new WeakMap();
  }

  /** The hash of a name. Undefined while there is no key. */
  of(name: string): string | undefined {
    return this.#key && createHmac('sha256', this.#key).update(name).digest('hex').slice(0, HASH_DIGITS);
  }

  /** The hash of a caller's owner, computed once for each caller. */
  ofCaller(principal: Principal): string | undefined {
    const known = this.#known.get(principal);
    if (known !== undefined) return known;
    const hash = this.of(principal.owner);
    if (hash !== undefined) this.#known.set(principal, hash);
    return hash;
  }
}
