import type { BrokenChainError } from '../log/event/chain.ts';
import { type DamagedStoreError, LogReplacedError } from '../log/store.ts';
import type { BrokenTreeError } from '../log/tree/nodes.ts';
import { type Readiness, STARTING } from './health.ts';
import type { Metrics } from './metrics/metrics.ts';

/** An event is not what was written, or not what was signed. */
export type BrokenLogError = BrokenChainError | BrokenTreeError;

/**
 * What is known to be wrong with the store, for readiness and metrics. Whoever learns of a fault, or of its end, sets
 * it.
 */
export class StoreState {
  isOpen = false;
  log: string | undefined;
  /** The reason why the store cannot be reached, while it cannot. */
  fault: unknown;
  /** How the log was first found broken. It stays: nothing repairs a log while instances run on it. */
  brokenLog: BrokenLogError | undefined;
  /** How the database was first found damaged. It stays: SQLite may read other pages, and repairs none. */
  damage: DamagedStoreError | undefined;
  /** The questions, but for `checkpoint`, that the last verification through this instance answered with no. */
  failedQuestions: readonly string[] = [];
  /** The reason why the read model cannot be used, while it cannot. */
  readModelFault: Error | undefined;
  /** The reason why no checkpoint is signed, while none is. */
  signingFault: Error | undefined;
  /** The reason why witnesses do not cosign, if it is the log. */
  witnessFault: Error | undefined;

  constructor(metrics: Metrics) {
    const gauge = (name: string, help: string, read: () => boolean) => metrics.gauge(name, help, () => Number(read()));
    gauge(
      'plantstore_store_reachable',
      'Whether the last access to the store succeeded: 1 or 0.',
      // A log that was replaced is there, and does not come back by itself.
      () => this.isOpen && (this.fault === undefined || this.#isReplaced),
    );
    gauge(
      'plantstore_log_broken',
      'Whether this instance has found since its start that the stored log is not what was written, or was replaced: 1 or 0.',
      () => (this.brokenLog ?? this.damage) !== undefined || this.#isReplaced,
    );
    gauge(
      'plantstore_read_model_broken',
      'Whether the read model cannot be used until it is repaired: 1 or 0.',
      () => this.readModelFault !== undefined && !this.#isReplaced,
    );
    gauge(
      'plantstore_verification_failed',
      'Whether the last verification through this instance answered a question with no: 1 or 0. For a broken log, see plantstore_log_broken.',
      () => this.failedQuestions.length > 0 && !this.#isReplaced,
    );
    gauge(
      'plantstore_signing_stopped',
      'Whether no checkpoint is signed or cosigned, because the log does not extend what was signed before, a file that signing needs cannot be used, or the id of the log is lost: 1 or 0.',
      () => this.isSigningStopped,
    );
  }

  /**
   * Whether no checkpoint is signed or cosigned, because the log does not extend what was signed before, a file that
   * signing needs cannot be used, such as on a full disk, or the id of the log is lost.
   */
  get isSigningStopped(): boolean {
    return (this.signingFault ?? this.witnessFault) !== undefined && !this.#isReplaced;
  }

  /** Whether the log is no longer the one that this instance has read. */
  get #isReplaced(): boolean {
    return this.fault instanceof LogReplacedError;
  }

  /**
   * Whether the store can be used. A broken log makes it degraded, and not unready: lists and commands need neither the
   * events nor the nodes that are broken. Every other instance has the same log, so one request for a proof, which
   * needs no token, would make all of them unready. A broken read model, what a verification found and signing that is
   * stopped are the same for all of them too, and what does not need them is served. No owner is named:
   * `failedQuestions` has only questions.
   */
  get readiness(): Readiness {
    return { ...this.#found, log: this.log };
  }

  get #found(): Readiness {
    if (this.fault instanceof LogReplacedError) return { ready: false, detail: this.fault.message };
    if (this.fault !== undefined) return { ready: false, detail: 'the store cannot be reached; the log says why' };
    if (!this.isOpen) return STARTING;
    const faults = [this.damage, this.brokenLog, this.readModelFault, this.signingFault, this.witnessFault].filter(
      (fault) => fault !== undefined,
    );
    const details = faults.map(({ message }) => message);
    if (this.failedQuestions.length > 0)
      details.push(`a verification said no (${this.failedQuestions.join(', ')}): run plantstore audit verify`);
    return details.length === 0 ? { ready: true } : { ready: true, degraded: true, detail: details.join('; ') };
  }
}
