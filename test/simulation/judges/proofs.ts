import type { Proved } from '../../../src/audit/check-receipt.ts';
import { PlantStoreError } from '../../../src/domain/errors.ts';
import { BrokenChainError, leafHash } from '../../../src/log/event/chain.ts';
import type { LoggedEvent } from '../../../src/log/event/event.ts';
import { parseNote, signatureBy } from '../../../src/tlog/note.ts';
import { Frontier } from '../../../src/tlog/tree.ts';
import type { VerifierKey } from '../../../src/tlog/verifier-key.ts';
import type { WitnessOutcome } from '../../../src/transparency/cosigned-checkpoints.ts';
import type { SignedCheckpoint } from '../../../src/transparency/signed-checkpoint.ts';
import type { Truth } from './truth.ts';
import { Violation } from './violation.ts';

/** A checkpoint that was served, and the log that it is of. */
interface Served {
  readonly size: number;
  readonly log: readonly LoggedEvent[];
}

/** Judges what instances sign: it is so, and it stays so. */
export class ProofJudge {
  readonly #truth: Truth;
  /** The size of the last checkpoint of each instance. */
  readonly #sizes = new Map<object, number>();
  /** What was served with cosignatures. */
  readonly #cosigned: Served[] = [];

  /** What was served without witnesses, by the disk on which the instance keeps what it signs. */
  readonly #served = new Map<object, Served[]>();

  constructor(truth: Truth) {
    this.#truth = truth;
  }

  /**
   * An instance gives a checkpoint. `old`: what was acknowledged 15 s before. `mayBeEarlier`: it may be of a log that a
   * restore has replaced. Throws Violation.
   */
  signed(
    instance: object,
    { size, root }: Pick<SignedCheckpoint, 'size' | 'root'>,
    old: number,
    mayBeEarlier: boolean,
  ): void {
    if (size < old && !mayBeEarlier)
      throw new Violation('proof', `a checkpoint of ${size} events, long after ${old} was acknowledged`);
    const before = this.#sizes.get(instance) ?? 0;
    if (size < before) throw new Violation('proof', `a checkpoint of ${size} events after one of ${before}`);
    this.#sizes.set(instance, size);
    if (this.#logOf(size, root, mayBeEarlier) === undefined)
      throw new Violation('proof', `a checkpoint of ${size} events, of ${this.#truth.end}, that is not of the log`);
  }

  /** The log that has a root at a size. */
  #logOf(size: number, root: Uint8Array, mayBeEarlier: boolean): readonly LoggedEvent[] | undefined {
    const { events, earlier } = this.#truth;
    return [events, ...(mayBeEarlier ? earlier : [])].find((log) => {
      if (log.length < size) return false;
      const tree = new Frontier();
      for (const event of log.slice(0, size)) tree.add(leafHash(event));
      return Buffer.compare(tree.root, root) === 0;
    });
  }

  /**
   * A checkpoint that is served has the signatures of enough witnesses. If no two checkpoints can do without one
   * witness in common, it extends every smaller one that was served, also after a restore. Throws Violation.
   */
  cosigned(
    { size, root, note }: SignedCheckpoint,
    verifiers: readonly VerifierKey[],
    { count, quorum }: { readonly count: number; readonly quorum: number },
  ): void {
    const parsed = parseNote(note);
    const signed = verifiers.filter((key) => signatureBy(key, parsed) !== undefined).length;
    if (signed < quorum)
      throw new Violation('proof', `a checkpoint of ${size} events is served with ${signed} cosignatures of ${quorum}`);
    const log = this.#logOf(size, root, true);
    if (size === 0 || log === undefined || 2 * quorum <= count) return;
    extend(this.#cosigned, { size, log: [...log] }, 'cosigned');
  }

  /**
   * An instance gives a checkpoint, which no witness has to cosign. It extends every smaller one that was served from
   * the same disk, also after a restore. Throws Violation.
   */
  kept(disk: object, { size, root }: SignedCheckpoint): void {
    const log = this.#logOf(size, root, true);
    if (size === 0 || log === undefined) return;
    const served = this.#served.get(disk) ?? [];
    this.#served.set(disk, served);
    extend(served, { size, log: [...log] }, 'signed');
  }

  /** A witness was asked. None ever sees a log that is not the one that it cosigned. Throws Violation. */
  witnessed(outcome: WitnessOutcome, error: unknown): void {
    // Of a log that was restored it may be so.
    if (outcome === 'forked' && this.#truth.earlier.length === 0) throw new Violation('proof', `${error}`);
  }

  /** A receipt for a position was verified. `erased`: the last erasure of its owner that is told. Throws Violation. */
  receipt(position: number, { event, size }: Proved, erased: number): void {
    if (position < erased) throw new Violation('proof', `the receipt for ${position} has what was erased at ${erased}`);
    const expected = this.#truth.events[position - 1]!;
    if (event.eventId !== expected.eventId || size < position)
      throw new Violation('proof', `the receipt for ${position} is for ${event.position} of ${size}`);
  }

  /** An instance proves nothing. It may, while its store is away; for good only of what is erased. Throws Violation. */
  refused(error: unknown, owner?: string, position = 0): void {
    const reason = error instanceof PlantStoreError ? error.reason : undefined;
    if (error instanceof BrokenChainError || (reason === undefined && owner !== undefined))
      throw new Violation('proof', `nothing is proved: ${error}`, owner);
    if (reason === 'EVENT_NOT_FOUND' && this.#truth.erasedAt(owner!) < position)
      throw new Violation('proof', `the event at ${position} is said not to be there`, owner);
  }
}

/** Takes the next of what was served. Throws Violation if it and one before are of two logs. */
function extend(served: Served[], next: Served, how: string): void {
  for (const other of served) {
    const common = Math.min(next.size, other.size) - 1;
    if (Buffer.compare(next.log[common]!.hash, other.log[common]!.hash) !== 0)
      throw new Violation('proof', `checkpoints of ${next.size} and of ${other.size} events are ${how}, of two logs`);
  }
  served.push(next);
}
