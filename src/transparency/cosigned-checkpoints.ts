import { PlantStoreError } from '../domain/errors.ts';
import { Backoff } from '../time/backoff.ts';
import { pause } from '../time/pause.ts';
import { formatSignature, type Signature } from '../tlog/note.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { SignedCheckpoint } from './signed-checkpoint.ts';
import { WitnessAheadError, type WitnessClient } from './witness-client.ts';

/** Milliseconds between two looks for a newer checkpoint. */
const ROUND = 1_000;
/** Milliseconds that the other witnesses have once enough have cosigned. */
const GRACE = 250;
/** Milliseconds after which the same checkpoint is cosigned anew: cosignatures tell that nothing is newer. */
const REFRESH = 60_000;
/** Pauses after failures of a witness, in milliseconds, the first and the longest. */
const MIN_PAUSE = 1_000;
const MAX_PAUSE = 60_000;

/** What became of asking a witness. */
export type WitnessOutcome = 'cosigned' | 'ahead' | 'failed';

/** How the cosigning stands. */
export interface CosigningStatus {
  /** Events of the last checkpoint that enough witnesses cosigned; undefined: none was. */
  readonly size: number | undefined;
  /** Milliseconds since 1970 when it was, or when this instance started. */
  readonly since: number;
}

/** What cosigning needs to know. */
export interface CosigningOptions {
  readonly checkpoints: Checkpoints;
  readonly witnesses: readonly WitnessClient[];
  /** How many of them are enough. */
  readonly quorum: number;
  /** Hears of each answer, or why there was none. */
  readonly onOutcome: (witness: string, outcome: WitnessOutcome, error: unknown) => void;
}

/** A witness, and when it may be asked again. */
interface Asked {
  readonly witness: WitnessClient;
  readonly backoff: Backoff;
  notBefore: number;
}

/**
 * Gives out the newest checkpoint that enough witnesses have cosigned. They are asked in rounds, each about one checkpoint, behind
 * everybody's back: a witness that is away, slow or wrong holds up no write, and no round for long, as it is left alone for a while.
 */
export class CosignedCheckpoints implements Checkpoints {
  readonly #options: CosigningOptions;
  readonly #asked: readonly Asked[];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #cosigned: SignedCheckpoint | undefined;
  #since = Date.now();
  #nextAt = 0;

  /** Asks until `close`. */
  constructor(options: CosigningOptions) {
    this.#options = options;
    this.#asked = options.witnesses.map((witness) => ({
      witness,
      backoff: new Backoff(MIN_PAUSE, MAX_PAUSE),
      notBefore: 0,
    }));
    this.#running = this.#run();
  }

  get status(): CosigningStatus {
    return { size: this.#cosigned?.size, since: this.#since };
  }

  async latest(): Promise<SignedCheckpoint> {
    if (this.#cosigned !== undefined) return this.#cosigned;
    throw new PlantStoreError('OVERLOADED', 'no checkpoint is cosigned by enough witnesses yet; try again', {
      retryAfter: 5,
    });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const checkpoint = await this.#options.checkpoints.latest().catch(() => undefined);
      const isNews = checkpoint !== undefined && checkpoint.size !== this.#cosigned?.size;
      if (checkpoint !== undefined && (isNews || performance.now() >= this.#nextAt)) await this.#round(checkpoint);
      await pause(ROUND, signal);
    }
  }

  /** Asks those witnesses that are not left alone, until all have answered, or for a moment more once enough have. */
  async #round(checkpoint: SignedCheckpoint): Promise<void> {
    const cosignatures: Signature[] = [];
    const enough = Promise.withResolvers<void>();
    const answers = this.#asked
      .filter(({ notBefore }) => performance.now() >= notBefore)
      .map(async (asked) => {
        const cosignature = await this.#ask(asked, checkpoint);
        if (cosignature === undefined) return;
        cosignatures.push(cosignature);
        if (cosignatures.length >= this.#options.quorum) {
          this.#take(checkpoint, cosignatures);
          enough.resolve();
        }
      });
    await Promise.race([Promise.all(answers), enough.promise.then(() => pause(GRACE))]);
  }

  #take(checkpoint: SignedCheckpoint, cosignatures: readonly Signature[]): void {
    // One that comes late may be of an earlier round.
    if (this.#cosigned !== undefined && checkpoint.size < this.#cosigned.size) return;
    this.#cosigned = { ...checkpoint, note: checkpoint.note + cosignatures.map(formatSignature).join('') };
    this.#since = Date.now();
    this.#nextAt = performance.now() + REFRESH;
  }

  async #ask(asked: Asked, checkpoint: SignedCheckpoint): Promise<Signature | undefined> {
    const { witness } = asked;
    // In case it does not answer before the next round begins.
    asked.notBefore = Number.POSITIVE_INFINITY;
    try {
      const cosignature = await witness.cosign(checkpoint, this.#stop.signal);
      asked.backoff.reset();
      asked.notBefore = 0;
      this.#options.onOutcome(witness.name, 'cosigned', undefined);
      return cosignature;
    } catch (error) {
      asked.notBefore = performance.now() + asked.backoff.next();
      const outcome = error instanceof WitnessAheadError ? 'ahead' : 'failed';
      if (!this.#stop.signal.aborted) this.#options.onOutcome(witness.name, outcome, error);
      return undefined;
    }
  }
}
