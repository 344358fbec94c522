import type { Proved } from '../../../src/audit/check-receipt.ts';
import { PlantStoreError } from '../../../src/domain/errors.ts';
import { BrokenChainError } from '../../../src/log/event/chain.ts';
import { leafHash } from '../../../src/log/event/leaf.ts';
import { Frontier } from '../../../src/tlog/frontier.ts';
import { parseNote, type Verifier, verifiedSignatures } from '../../../src/tlog/note.ts';
import type { WitnessOutcome } from '../../../src/transparency/cosigned-checkpoints.ts';
import type { SignedCheckpoint } from '../../../src/transparency/signed-checkpoint.ts';
import type { Truth } from './truth.ts';
import { Violation } from './violation.ts';

/** Judges what instances sign: it is so, and it stays so. */
export class ProofJudge {
  readonly #truth: Truth;
  /** The size of the last checkpoint of each instance. */
  readonly #sizes = new Map<object, number>();

  constructor(truth: Truth) {
    this.#truth = truth;
  }

  /** An instance gives a checkpoint. `old`: what was acknowledged 15 s before. Throws Violation. */
  signed(instance: object, { size, root }: Pick<SignedCheckpoint, 'size' | 'root'>, old: number): void {
    if (size < old) throw new Violation('proof', `a checkpoint of ${size} events, long after ${old} was acknowledged`);
    const before = this.#sizes.get(instance) ?? 0;
    if (size < before) throw new Violation('proof', `a checkpoint of ${size} events after one of ${before}`);
    this.#sizes.set(instance, size);
    if (size > this.#truth.end) throw new Violation('proof', `a checkpoint of ${size} events, of ${this.#truth.end}`);
    const tree = new Frontier();
    for (const event of this.#truth.events.slice(0, size)) tree.add(leafHash(event));
    if (Buffer.compare(tree.root, root) !== 0) throw new Violation('proof', `another root at ${size} events`);
  }

  /** A checkpoint that is served has the signatures of enough witnesses. Throws Violation. */
  cosigned({ size, note }: SignedCheckpoint, verifiers: readonly Verifier[], quorum: number): void {
    const { text, signatures } = parseNote(note);
    const count = verifiedSignatures(text, signatures, verifiers).length;
    if (count < quorum)
      throw new Violation('proof', `a checkpoint of ${size} events is served with ${count} cosignatures of ${quorum}`);
  }

  /** A witness was asked. None ever sees a log that is not the one that it cosigned. Throws Violation. */
  witnessed(outcome: WitnessOutcome, error: unknown): void {
    if (outcome === 'forked') throw new Violation('proof', `${error}`);
  }

  /** A receipt for a position was verified. Throws Violation. */
  receipt(position: number, { event, size }: Proved): void {
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
