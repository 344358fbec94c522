import type { FastifyInstance } from 'fastify';
import type { Authenticator } from '../auth/authenticator.ts';
import type { KeySet } from '../auth/keys/key-set.ts';
import type { EventLog } from '../log/log.ts';
import type { BrokenReadModelError } from '../log/store.ts';
import { LogChangedError } from '../log/tail/log-changed.ts';
import type { Readiness } from '../observe/health.ts';
import type { LogOutput } from '../observe/log-output.ts';
import type { Sources, Telemetry } from '../observe/telemetry.ts';
import type { Watches } from '../plants/watch/watches.ts';
import type { PublisherThread } from '../publisher/thread.ts';
import type { CosignedCheckpoints } from '../transparency/cosigned-checkpoints.ts';
import type { Admission } from '../transport/admission/admission.ts';

/** The readiness of a dependency that is still starting. */
export const STARTING: Readiness = { ready: false, detail: 'starting' };

/** What has been started so far. Readiness and metrics are asked for before everything is. */
export interface Parts {
  readonly output: LogOutput;
  log?: EventLog;
  /** The reason why the store cannot be reached, while it cannot. */
  storeFault?: unknown;
  /** The reason why the read model cannot be used, while it cannot. */
  readModelFault?: BrokenReadModelError | undefined;
  /** The reason why no checkpoint is signed, while none is. */
  signingFault?: Error | undefined;
  /** The reason why witnesses do not cosign, if it is the log. */
  witnessFault?: Error | undefined;
  telemetry?: Telemetry;
  publication?: PublisherThread | undefined;
  keys?: KeySet;
  authenticator?: Authenticator;
  watches?: Watches;
  cosigning?: CosignedCheckpoints | undefined;
  admission?: Admission;
  app?: FastifyInstance;
}

/**
 * Whether the store can be used. A broken log makes it degraded, and not unready: lists and commands need neither the
 * events nor the nodes that are broken. Every other instance has the same log, so one request for a proof, which needs
 * no token, would make all of them unready. A broken read model and signing that is stopped are the same for all of them
 * too, and what does not need them is served.
 */
export function storeReadiness({
  log,
  storeFault,
  readModelFault,
  signingFault,
  witnessFault,
  telemetry,
}: Parts): Readiness {
  if (storeFault instanceof LogChangedError) return { ready: false, detail: storeFault.message };
  if (storeFault !== undefined) return { ready: false, detail: 'the store cannot be reached; the log says why' };
  if (log === undefined) return STARTING;
  const faults = [telemetry?.brokenLog, readModelFault, signingFault, witnessFault].filter(
    (fault) => fault !== undefined,
  );
  if (faults.length === 0) return { ready: true };
  return { ready: true, degraded: true, detail: faults.map(({ message }) => message).join('; ') };
}

const isReplaced = ({ storeFault }: Parts): boolean => storeFault instanceof LogChangedError;

/** The state of the parts, for metrics. */
export const sourcesOf = (parts: Parts): Sources => ({
  log: () => parts.log?.status,
  // A log that was replaced is there, and does not come back by itself.
  storeReachable: () => parts.log !== undefined && (parts.storeFault === undefined || isReplaced(parts)),
  logReplaced: () => isReplaced(parts),
  readModelBroken: () => parts.readModelFault !== undefined && !isReplaced(parts),
  signingStopped: () => (parts.signingFault ?? parts.witnessFault) !== undefined && !isReplaced(parts),
  authentication: () =>
    parts.authenticator && parts.keys && { cacheHits: parts.authenticator.cacheHits, ready: parts.keys.ready().ready },
  listCache: () => parts.log?.listCache,
  watches: () => parts.watches?.statistics,
  admission: () => parts.admission,
  publication: () => parts.publication?.stats(),
  cosigning: () => parts.cosigning?.status,
  output: parts.output,
});
