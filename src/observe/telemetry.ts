import type { Decision } from '../auth/authenticator.ts';
import { BrokenChainError } from '../log/event/chain.ts';
import type { ForwardObserver, LogObserver, LogStatus } from '../log/observer.ts';
import { BrokenTreeError } from '../log/tree/nodes.ts';
import type { ListCacheStatistics } from '../log/view/list-cache.ts';
import { VERSION } from '../version.ts';
import { decisionLog } from './decision-log.ts';
import type { Logger } from './logger.ts';
import { type AuthenticationStatus, authMetrics } from './metrics/auth.ts';
import { forwardMetrics } from './metrics/forwarding.ts';
import { logMetrics } from './metrics/log.ts';
import { Metrics } from './metrics/metrics.ts';
import {
  type AdmissionStatus,
  admissionMetrics,
  type LineStatistics,
  lineMetrics,
  listCacheMetrics,
  type PublicationStatus,
  publicationMetrics,
  type WatchStatus,
  watchMetrics,
} from './metrics/parts.ts';
import { requestMetrics } from './metrics/requests.ts';
import { type CosigningStatus, witnessMetrics } from './metrics/witnesses.ts';
import type { OwnerHashes } from './owner-hashes.ts';
import type { Protocol, ShedReason } from './request.ts';
import { requestLog } from './request-log.ts';
import type { RequestObserver } from './request-observer.ts';
import { sparing } from './sparing.ts';
import type { Tracing } from './tracing/tracing.ts';

/** The state of the service, for metrics. A value is undefined until its part has started. */
export interface Sources {
  readonly log: () => LogStatus | undefined;
  readonly storeReachable: () => boolean;
  /** Whether the log is no longer the one that this instance has read. */
  readonly logReplaced: () => boolean;
  /** Whether the read model is of no use until it is repaired. */
  readonly readModelBroken: () => boolean;
  /** Whether no checkpoint is signed or cosigned, because the log does not extend what was signed before. */
  readonly signingStopped: () => boolean;
  readonly authentication: () => AuthenticationStatus | undefined;
  readonly listCache: () => ListCacheStatistics | undefined;
  readonly watches: () => WatchStatus | undefined;
  readonly admission: () => AdmissionStatus | undefined;
  /** Also undefined if events are not published. */
  readonly publication: () => PublicationStatus | undefined;
  /** Undefined without witnesses. */
  readonly cosigning: () => CosigningStatus | undefined;
  /** The output of log lines. */
  readonly output: LineStatistics;
}

/** Everything that the service reports, except health: metrics, log lines of requests and decisions, and traces. */
export interface Telemetry {
  readonly metrics: Metrics;
  /** Version of the running program. */
  readonly version: string;
  /** Ended requests, over all protocols. */
  readonly endedRequests: number;
  readonly requests: RequestObserver;
  readonly log: LogObserver;
  readonly forwarding: ForwardObserver;
  /** A request was shed before any work. */
  shed(protocol: Protocol, reason: ShedReason): void;
  /** A fault of the store was handled. */
  storeFault(error: unknown): void;
  /**
   * The stored log was found broken. The failure of a request that finds it is taken from the request, and a fault of
   * the store that is one from the fault.
   */
  logBroken(error: BrokenLogError): void;
  /** How the log was first found broken. It stays: nothing repairs a log while instances run on it. */
  readonly brokenLog: BrokenLogError | undefined;
  /** A token was accepted or refused. */
  decided(decision: Decision): void;
  /** A fetch of the issuer's keys has ended. */
  fetched(failure: Error | undefined): void;
  /** A witness was asked to cosign a checkpoint. */
  readonly witnessed: ReturnType<typeof witnessMetrics>;
}

/** An event is not what was written, or not what was signed. */
type BrokenLogError = BrokenChainError | BrokenTreeError;

/** Creates the telemetry. `owners`: how log lines name owners. */
export function createTelemetry(
  logger: Logger,
  owners: OwnerHashes,
  tracing: Tracing | undefined,
  sources: Sources,
): Telemetry {
  const metrics = new Metrics();
  metrics.info('plantstore_build_info', 'Version of the running program.', { version: VERSION, node: process.version });
  const count = requestMetrics(metrics);
  const write = requestLog(logger, owners);
  let brokenLog: BrokenLogError | undefined;
  const { fault, ...log } = logMetrics(metrics, sources.log, {
    reachable: sources.storeReachable,
    broken: () => brokenLog !== undefined || sources.logReplaced(),
    readModelBroken: sources.readModelBroken,
    signingStopped: sources.signingStopped,
  });
  const { forwarded, taken } = forwardMetrics(metrics, sources.log);
  const writeDecision = decisionLog(logger, owners);
  const authentication = authMetrics(metrics, sources.authentication);
  listCacheMetrics(metrics, sources.listCache);
  const shed = admissionMetrics(metrics, sources.admission);
  publicationMetrics(metrics, sources.publication);
  watchMetrics(metrics, sources.watches);
  lineMetrics(metrics, sources.output);
  const witnessed = witnessMetrics(metrics, logger, sources.cosigning);
  let endedRequests = 0;
  const storeFailed = sparing((fault) => logger.warn(fault, 'the store failed'));
  const keysNotFetched = sparing((fault) => logger.warn(fault, "the issuer's keys could not be fetched"));
  // Logged once, because callers can request the damaged part repeatedly.
  const logBroken = (err: BrokenLogError): void => {
    if (brokenLog !== undefined) return;
    brokenLog = err;
    logger.error(
      { err },
      'the stored log is not what was written: run plantstore audit verify, and compare it with a backup',
    );
  };
  return {
    metrics,
    version: VERSION,
    get endedRequests() {
      return endedRequests;
    },
    get brokenLog() {
      return brokenLog;
    },
    logBroken,
    shed,
    witnessed,
    requests: {
      tracing,
      ended(request) {
        endedRequests++;
        const cause = request.failure?.cause;
        if (cause instanceof BrokenChainError) logBroken(cause);
        // A wrong node stops signing, and a repair corrects it. If the nodes are right, the event itself is wrong.
        if (cause instanceof BrokenTreeError && !sources.signingStopped()) logBroken(cause);
        count(request);
        write(request);
      },
    },
    log: {
      refused: log.refused,
      appended(batch) {
        log.appended(batch);
        tracing?.appended(batch);
      },
    },
    forwarding: {
      taken,
      forwarded(outcome, milliseconds, reason) {
        forwarded(outcome, milliseconds);
        if (reason !== undefined) log.refused(reason);
      },
    },
    storeFault(err) {
      fault();
      if (err instanceof BrokenChainError) logBroken(err);
      else storeFailed(err);
    },
    decided(decision) {
      authentication.decided(decision);
      writeDecision(decision);
    },
    fetched(err) {
      authentication.fetched(err);
      if (err !== undefined) keysNotFetched(err);
    },
  };
}
