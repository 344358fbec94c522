import { BrokenChainError } from '../log/event/chain.ts';
import { BrokenTreeError } from '../log/tree/nodes.ts';
import type { Logger } from './logger.ts';
import { authMetrics, commitMetrics, forwardMetrics, requestMetrics } from './metrics/counts.ts';
import { Metrics } from './metrics/metrics.ts';
import type { EndedRequest } from './request.ts';
import { type OwnerHashes, requestLog } from './request-log.ts';
import { sparing } from './sparing.ts';
import { type BrokenLogError, StoreState } from './store-state.ts';
import type { Tracing } from './tracing.ts';
import { VERSION } from './version.ts';

/** Observes the requests of every transport. */
export interface RequestObserver {
  /** Called once for each request, when it has ended. */
  ended(request: EndedRequest): void;
  readonly tracing?: Tracing | undefined;
}

/** Everything that the service reports, except health: metrics, log lines of requests and decisions, and traces. */
export type Telemetry = ReturnType<typeof createTelemetry>;

/** Creates the telemetry. `owners`: how log lines name owners. */
export function createTelemetry(logger: Logger, owners: OwnerHashes, tracing: Tracing | undefined) {
  const metrics = new Metrics();
  metrics.info('plantstore_build_info', 'Version of the running program.', { version: VERSION, node: process.version });
  const counted = requestMetrics(metrics);
  const write = requestLog(logger, owners);
  const { fault, ...log } = commitMetrics(metrics);
  const store = new StoreState(metrics);
  const storeFailed = sparing((fault) => logger.warn(fault, 'the store failed'));
  const keysNotFetched = sparing((fault) => logger.warn(fault, "the issuer's keys could not be fetched"));
  // Logged once, because callers can request the damaged part repeatedly.
  const logBroken = (err: BrokenLogError): void => {
    if (store.brokenLog !== undefined) return;
    store.brokenLog = err;
    logger.error(
      { err },
      'the stored log is not what was written: run plantstore audit verify, and compare it with a backup',
    );
  };
  const requests: RequestObserver = {
    tracing,
    ended(request) {
      const cause = request.failure?.cause;
      if (cause instanceof BrokenChainError) logBroken(cause);
      // A wrong node stops signing, and a repair corrects it. If the nodes are right, the event itself is wrong.
      if (cause instanceof BrokenTreeError && !store.isSigningStopped) logBroken(cause);
      counted.ended(request);
      write(request);
    },
  };
  return {
    ...{ metrics, store, requests, log, shed: counted.shed },
    ...authMetrics(metrics, keysNotFetched),
    forwarding: forwardMetrics(metrics, log.refused),
    /** A verification has ended. `broken`: the log is not what was written. `failedQuestions` got the answer no. */
    verified(broken: BrokenChainError | undefined, failedQuestions: readonly string[]) {
      if (broken !== undefined) return logBroken(broken);
      if (failedQuestions.join() === store.failedQuestions.join()) return;
      store.failedQuestions = failedQuestions;
      if (failedQuestions.length === 0) logger.info('a verification answered every question with yes');
      else
        logger.error(
          { questions: failedQuestions },
          'a verification said no: run plantstore audit verify, which says where',
        );
    },
    storeFault(err: unknown) {
      fault();
      if (err instanceof BrokenChainError) logBroken(err);
      else storeFailed(err);
    },
  };
}
