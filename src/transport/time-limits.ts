import type { IncomingHttpHeaders } from 'node:http';

/** Longest time limit of a call, in milliseconds: what a timer of Node holds, some 24 days. */
const MAX_LIMIT = 2 ** 31 - 1;

/** The headers that limit the time of a call: digits, and gRPC's units in which they can be beyond MAX_LIMIT. */
const LIMITS = Object.entries({ 'connect-timeout-ms': /^(\d{1,10})()$/, 'grpc-timeout': /^(\d{1,8})([HMS])$/ });
const MILLISECONDS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000 };

/**
 * A limit that no timer holds is none, over every protocol. The libraries would set the timer: it passes at once, and
 * Node warns of it on stderr.
 */
export function dropLongLimits(headers: IncomingHttpHeaders): void {
  for (const [name, form] of LIMITS) {
    if (headers[name] === undefined) continue;
    const [, digits, unit = ''] = form.exec(String(headers[name])) ?? [];
    if (Number(digits) * (MILLISECONDS[unit] ?? 1) > MAX_LIMIT) delete headers[name];
  }
}

const GRPC_LIMIT = /^\d{1,8}[HMSmun]$/;

/** Whether a `grpc-timeout` is one, or there is none. */
export const isLimit = (limit: string | string[] | undefined): boolean =>
  limit === undefined || GRPC_LIMIT.test(String(limit));
