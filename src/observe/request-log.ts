import type { Logger } from './logger.ts';
import type { OwnerHashes } from './owner-hashes.ts';
import { type EndedRequest, failureFields } from './request.ts';
import { sampler } from './sparing.ts';

/** Milliseconds, and most lines within them of one kind of request without a known caller. */
const INTERVAL = 60_000;
const MOST = 100;

/** A sampler of what callers without a token can cause: they must not be able to write a line each time. */
export const sampleUnknown = () => sampler(INTERVAL, MOST);

/**
 * A function that writes one line per request, at level info. Requests without a known caller are sampled, by status,
 * reason and why.
 */
export function requestLog(logger: Logger, owners: OwnerHashes): (request: EndedRequest) => void {
  const seriesOf = seriesOfLines(logger);
  const sample = sampleUnknown();
  return (ended) => {
    if (!logger.isLevelEnabled('info') || isProbe(ended)) return;
    const { principal, failure, seconds, bytes, requestId, traceId } = ended;
    const fields = failure && failureFields(failure);
    const repeated = principal === undefined ? sample([ended.status, fields?.reason, fields?.why].join()) : 0;
    if (repeated === undefined) return;
    const line: Line = {
      bytes,
      requestId,
      traceId,
      owner: principal && owners.ofCaller(principal),
      milliseconds: Math.round(seconds * 1e6) / 1e3,
      repeated: repeated === 0 ? undefined : repeated,
    };
    seriesOf(ended).info(fields === undefined ? line : { ...line, ...fields }, 'request');
  };
}

/** What differs from line to line. Undefined members are not written. */
interface Line {
  readonly bytes: number;
  readonly requestId: string;
  readonly traceId: string | undefined;
  readonly owner: string | undefined;
  readonly milliseconds: number;
  /** Requests of the same kind since the line before, without a line. */
  readonly repeated: number | undefined;
}

/**
 * A function that finds the logger of a request's protocol, method, route and status. Each of these loggers writes the
 * four from a text made once. They are as few as the series of the metric of requests, which has the same labels.
 */
function seriesOfLines(logger: Logger): (request: EndedRequest) => Logger {
  const known = new Map<string, Logger>();
  return ({ protocol, method, route, status }) => {
    const name = `${protocol} ${method} ${status} ${route}`;
    const series = known.get(name);
    if (series !== undefined) return series;
    // Redaction by path is off, because the fields come from the service, and it costs more than the rest of a line.
    const added = logger.child({ protocol, method, route, ...outcomeOf(status) }, { redact: [] });
    known.set(name, added);
    return added;
  };
}

/** A status of HTTP as a number, and the name of a google.rpc.Code apart from it: a member has one type in all lines. */
const outcomeOf = (status: string): { status: number } | { code: string } =>
  /^\d+$/.test(status) ? { status: Number(status) } : { code: status };

/** Whether the request is a successful health check. Each prober sends one every few seconds. */
const isProbe = ({ route, status }: EndedRequest): boolean => status === 'OK' && route.startsWith('/grpc.health.');
