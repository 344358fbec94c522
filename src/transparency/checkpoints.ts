import { counted } from '../domain/counted.ts';
import { PlantStoreError } from '../domain/errors.ts';
import { BrokenChainError } from '../log/event/chain.ts';
import type { Head } from '../log/event/event.ts';
import { LostRecordError } from '../log/store.ts';
import { BrokenTreeError } from '../log/tree/nodes.ts';
import type { Tree } from '../log/tree/tree.ts';
import { CannotSignError, unavailable } from '../log/unavailable.ts';
import { monotonic, setTimer, type Timer } from '../time/host.ts';
import { pause } from '../time/pause.ts';
import type { Signer } from '../tlog/note.ts';
import { checkTree, proveTree } from '../tlog/proof.ts';
import type { TileReader } from '../tlog/tile.ts';
import { type KeptCheckpoint, RESTORED, type SignedCheckpoint, signCheckpoint } from './signed-checkpoint.ts';

/** Milliseconds for which a checkpoint is served before a new one is made. */
export const CHECKPOINT_INTERVAL = 250;

/** Milliseconds until it is looked again whether the log extends what was signed. */
const RETRY_INTERVAL = 5_000;

/** Errors that are told, and stop the signing until they are mended. */
const STOPS = [BrokenTreeError, BrokenChainError, CannotSignError, LostRecordError];

/** Intervals that a caller waits for a checkpoint that includes an event. */
const MAX_ATTEMPTS = 12;

/** Most checkpoints of other processes, each signed while the next one was made, that one call compares with. */
const MAX_OTHERS = 10;

/** Serves checkpoints of the log. None is smaller than an earlier one. */
export interface Checkpoints {
  /**
   * A checkpoint of the log as it was after the call, or shortly before it; with witnesses, the newest that enough of
   * them cosigned. Rejects with PlantStoreError if there is none, and rather than sign an inconsistent one.
   */
  latest(): Promise<SignedCheckpoint>;

  /** The names of the witnesses that have cosigned no checkpoint of this many events yet. Absent without witnesses. */
  missing?(size: number): readonly string[];
}

/** What is signed, with which key, and what was signed last. */
export interface Signing {
  /** The end of the log, confirmed by a majority. */
  readonly head: () => Promise<Head>;
  readonly tree: TileReader;
  readonly signer: () => Promise<Signer>;
  readonly kept: KeptCheckpoint;
}

/** Dependencies of LogCheckpoints. */
export interface CheckpointOptions extends Signing {
  readonly tree: Tree;
  /**
   * Called with the reason each time that nothing is signed, because the log does not extend what was signed, a file
   * that signing needs cannot be used or the log's id is lost, and with undefined each time that something is.
   */
  readonly onFault: (fault: Error | undefined) => void;
}

/**
 * Signs at most four checkpoints per second, for any number of callers, and tries no more often while it cannot. None
 * is given to anybody before the log is verified to extend the previous one, also one from before a restart: a log must
 * not sign inconsistent ones (c2sp.org/tlog-checkpoint, "Signatures").
 */
export class LogCheckpoints implements Checkpoints {
  readonly #options: CheckpointOptions;
  #last: SignedCheckpoint | undefined;
  /** When the last attempt began: what it made holds what was acknowledged by then. And why it failed, if it did. */
  #tried: { readonly began: number; readonly error?: Error } = { began: Number.NEGATIVE_INFINITY };
  #making: Promise<void> | undefined;
  #fault: Error | undefined;
  #again: Timer | undefined;
  /** Whether the tree is to be forgotten before the next attempt. */
  #isStale = false;
  /** Number of events up to which what the tree remembers makes a root that was signed. */
  #checked = 0;

  constructor(options: CheckpointOptions) {
    this.#options = options;
  }

  async latest(): Promise<SignedCheckpoint> {
    const oldest = monotonic() - CHECKPOINT_INTERVAL;
    // The attempt under way may have begun long ago, before the process stood still. The next one begins now.
    while (this.#tried.began <= oldest) {
      this.#making ??= this.#make().finally(() => {
        this.#making = undefined;
      });
      await this.#making;
    }
    if (this.#tried.error !== undefined) throw this.#tried.error;
    return this.#last!;
  }

  /** Whether a checkpoint of so many events or more is signed here, and the tree remembers what makes its root. */
  async covers(size: number): Promise<boolean> {
    if (size > this.#checked) await this.latest().catch(() => {});
    return size <= this.#checked;
  }

  async #make(): Promise<void> {
    const began = monotonic();
    if (this.#isStale) this.#forget();
    try {
      const next = await signNext(this.#options, this.#last);
      // The same one again says nothing of what the tree remembers.
      if (next !== this.#last) this.#checked = next.size;
      this.#last = next;
      this.#tell(undefined);
      this.#tried = { began };
    } catch (error) {
      if (STOPS.some((kind) => error instanceof kind)) this.#tell(error as Error);
      // The store may be away when it tries again.
      if (this.#fault !== undefined) this.#again ??= setTimer(() => this.#tryAgain(), RETRY_INTERVAL).unref();
      this.#tried = { began, error: unavailable(error) };
      throw this.#tried.error;
    }
  }

  #forget(): void {
    this.#options.tree.forget();
    this.#isStale = false;
    this.#checked = 0;
  }

  #tell(fault: Error | undefined): void {
    if (fault !== undefined && this.#fault === undefined) this.#forget();
    this.#fault = fault;
    this.#options.onFault(fault);
  }

  /** While a fault stands, it tries again by itself, with nothing that it remembers of the store. */
  #tryAgain(): void {
    this.#again = undefined;
    if (this.#fault === undefined) return;
    // Not during an attempt, which would read what another one has forgotten.
    this.#isStale = true;
    this.#tried = { began: Number.NEGATIVE_INFINITY };
    this.latest().catch(() => {});
  }
}

/**
 * Signs a checkpoint of the log as it is now, and keeps it. Whatever is signed comes from here, once it is verified to
 * extend `known`, and what was kept, also by another process. Returns `known` if the log has not grown. Rejects with
 * BrokenTreeError for a log that does not extend them, with CannotSignError if the key or the kept checkpoint cannot be
 * used, and with OVERLOADED if others sign all the while.
 */
export async function signNext(
  { head, tree, signer, kept }: Signing,
  known: SignedCheckpoint | undefined,
): Promise<SignedCheckpoint> {
  const signing = await signer();
  let last = known ?? (await kept.read(signing.key));
  for (let others = 0; others <= MAX_OTHERS; others++) {
    const { position: size } = await head();
    if (size === known?.size && last === known) return known;
    if (last !== undefined && size < last.size)
      throw new BrokenTreeError(
        `a checkpoint of ${counted(last.size, 'event')} was signed, and the log has ${size}`,
        RESTORED,
      );
    const next = await signCheckpoint(tree, size, signing);
    if (last !== undefined) await proveConsistent(tree, next, last);
    const other = await kept.replace(next, last, signing.key);
    if (other === undefined) return next;
    last = other;
  }
  throw new PlantStoreError('OVERLOADED', 'other processes keep signing checkpoints with this DATA_DIR; try again');
}

async function proveConsistent(tree: TileReader, next: SignedCheckpoint, last: SignedCheckpoint): Promise<void> {
  const proof = await proveTree(next.size, last.size, tree);
  try {
    checkTree(proof, next.size, next.root, last.size, last.root);
  } catch {
    throw new BrokenTreeError(
      `the log of ${counted(next.size, 'event')} does not extend the signed checkpoint of ${last.size}`,
      `run plantstore audit verify; if only tree says no, run plantstore audit rebuild; ${RESTORED}`,
    );
  }
}

/** A checkpoint that includes the event at a position of the log. Rejects with OVERLOADED if there is none in time. */
export async function checkpointWith(checkpoints: Checkpoints, position: number): Promise<SignedCheckpoint> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    if (attempt > 0) await pause(CHECKPOINT_INTERVAL);
    const checkpoint = await checkpoints.latest();
    if (checkpoint.size >= position) return checkpoint;
  }
  throw new PlantStoreError('OVERLOADED', `${notIncluded(checkpoints, position)}; try again`, { retryAfter: 5 });
}

/** Says that no served checkpoint includes the event at a position, and whose cosignatures are missing. */
export function notIncluded(checkpoints: Checkpoints, position: number): string {
  const missing = checkpoints.missing?.(position) ?? [];
  const witnesses = missing.length === 0 ? '' : `; missing: the cosignature of ${missing.join(', ')}`;
  return `no checkpoint includes this event yet${witnesses}`;
}
