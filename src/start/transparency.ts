import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { OpenedLog } from '../log/open.ts';
import { Tree } from '../log/tree/tree.ts';
import type { Logger } from '../observe/logger.ts';
import { witnessMetrics } from '../observe/metrics/counts.ts';
import type { Metrics } from '../observe/metrics/metrics.ts';
import type { Telemetry } from '../observe/telemetry.ts';
import { LogCheckpoints } from '../transparency/checkpoints.ts';
import { CosignedCheckpoints } from '../transparency/cosigned-checkpoints.ts';
import { logSignerOnDemand } from '../transparency/log-key.ts';
import { CHECKPOINT_FILE, keptIn } from '../transparency/signed-checkpoint.ts';
import { WitnessClient } from '../transparency/witness-client.ts';

/** The log as a transparency log: its tree, and the checkpoints that are made of it. */
export type Transparency = ReturnType<typeof openTransparency>;

/** Makes checkpoints of the log, and has the witnesses of the settings cosign them. */
export function openTransparency(
  config: Config,
  logger: Logger,
  telemetry: Telemetry,
  { store, log }: OpenedLog,
  opened: AsyncDisposableStack,
) {
  // Each attempt may have another reason, since the log grows: readiness has the last one, and the log the first.
  const reporting = (part: 'signingFault' | 'witnessFault', what: string) => (fault: Error | undefined) => {
    const isNews = (fault === undefined) !== (telemetry.store[part] === undefined);
    telemetry.store[part] = fault;
    if (!isNews) return;
    if (fault === undefined) logger.info(`the log's checkpoints are ${what} again`);
    else logger.error({ err: fault }, `the log's checkpoints are not ${what}`);
  };
  const head = () => log.head();
  const tree = new Tree(store, log.replaced);
  const signer = logSignerOnDemand(config, store);
  const kept = keptIn(join(config.dataDirectory, CHECKPOINT_FILE), (why) => logger.warn(why));
  const signed = new LogCheckpoints({ ...{ head, tree, signer, kept }, onFault: reporting('signingFault', 'signed') });
  const witnesses = config.witnesses?.witnesses.map((witness) => new WitnessClient(witness, tree)) ?? [];
  const cosigned =
    config.witnesses &&
    new CosignedCheckpoints({
      checkpoints: signed,
      witnesses,
      quorum: config.witnesses.quorum,
      onOutcome: witnessMetrics(
        telemetry.metrics,
        logger,
        witnesses.map(({ name }) => name),
      ),
      head,
      onFault: reporting('witnessFault', 'cosigned'),
    });
  cosigningGauges(telemetry.metrics, cosigned);
  if (cosigned !== undefined) opened.defer(() => cosigned.close());
  // Whether the log extends what was signed before the start is to be known before anybody asks.
  signed.latest().catch(() => {});
  return {
    tree,
    key: async () => (await signer()).key,
    covers: (size: number) => signed.covers(size),
    /** Checkpoints that the log alone has signed. */
    signed: cosigned ? { latest: () => cosigned.uncosigned() } : signed,
    /** Checkpoints for everybody: with witnesses, those that enough of them have cosigned. */
    checkpoints: cosigned ?? signed,
  };
}

/** Adds the metrics of cosigned checkpoints. They have no samples without witnesses. */
function cosigningGauges(metrics: Metrics, cosigned: CosignedCheckpoints | undefined): void {
  metrics.gauge(
    'plantstore_cosigned_checkpoint_events',
    'Size of the last checkpoint that enough witnesses cosigned.',
    () => cosigned?.status.size,
  );
  metrics.gauge(
    'plantstore_cosigned_checkpoint_age_seconds',
    'Time since enough witnesses last cosigned a checkpoint, or since the start. Checkpoints are cosigned at least every minute.',
    () => cosigned && (performance.now() - cosigned.status.since) / 1_000,
  );
}
