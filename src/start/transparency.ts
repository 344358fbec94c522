import type { Config } from '../config.ts';
import type { BrokenChainError } from '../log/event/chain.ts';
import type { OpenedLog } from '../log/open.ts';
import { BrokenTreeError } from '../log/tree/nodes.ts';
import { Tree } from '../log/tree/tree.ts';
import type { Logger } from '../observe/logger.ts';
import type { Telemetry } from '../observe/telemetry.ts';
import { LogCheckpoints } from '../transparency/checkpoints.ts';
import { CosignedCheckpoints } from '../transparency/cosigned-checkpoints.ts';
import { type LogKey, logKeyOnDemand } from '../transparency/log-key.ts';
import { WitnessClient } from '../transparency/witness-client.ts';

/** The log as a transparency log: its tree, and the checkpoints that are made of it. */
export interface Transparency {
  readonly tree: Tree;
  /** The key that signs the checkpoints. */
  readonly key: () => Promise<LogKey>;
  /** Checkpoints that the log alone has signed. */
  readonly signed: LogCheckpoints;
  /** Those that witnesses have cosigned; undefined without witnesses. */
  readonly cosigned: CosignedCheckpoints | undefined;
}

/** Makes checkpoints of the log, and has the witnesses of the settings cosign them. */
export function openTransparency(
  config: Config,
  logger: Logger,
  telemetry: Telemetry,
  { store, log }: OpenedLog,
  opened: AsyncDisposableStack,
): Transparency {
  const onBroken = (fault: BrokenTreeError | BrokenChainError) =>
    fault instanceof BrokenTreeError ? log.treeBroken(fault) : telemetry.logBroken(fault);
  const tree = new Tree(store, { changed: log.changed, onBroken });
  const key = logKeyOnDemand(config, store);
  const signed = new LogCheckpoints({ head: () => log.head(), nodes: store.tree, tree, key });
  const cosigned =
    config.witnesses &&
    new CosignedCheckpoints({
      checkpoints: signed,
      witnesses: config.witnesses.witnesses.map((witness) => new WitnessClient(witness, tree)),
      quorum: config.witnesses.quorum,
      onOutcome: telemetry.witnessed,
      onBroken: (err) => {
        telemetry.logBroken(err);
        logger.error({ err }, 'the log is broken: no checkpoint is made of it');
      },
    });
  if (cosigned !== undefined) opened.defer(() => cosigned.close());
  return { tree, key, signed, cosigned };
}
