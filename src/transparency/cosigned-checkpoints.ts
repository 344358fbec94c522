import { PlantStoreError } from '../domain/errors.ts';
import type { Head } from '../log/event/event.ts';
import { Backoff } from '../time/backoff.ts';
import { monotonic } from '../time/host.ts';
import { pause } from '../time/pause.ts';
import { formatSignature, type Signature } from '../tlog/note.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { SignedCheckpoint } from './signed-checkpoint.ts';
import { WitnessAheadError, type WitnessClient, WitnessForkedError } from './witness-client.ts';

/** Milliseconds between two checks for a newer checkpoint. */
const ROUND_INTERVAL = 1_000;
/** Milliseconds for the remaining witnesses once enough have cosigned. */
const ROUND_GRACE = 250;
/** Milliseconds after which an unchanged checkpoint is cosigned again, to show that it is current. */
const REFRESH_INTERVAL = 60_000;
/** First and longest pause after failures of a witness, in milliseconds. */
const FIRST_PAUSE = 1_000;
const MAX_PAUSE = 60_000;

/** Outcome of a request to a witness. `late`: another instance had shown it a newer checkpoint of the log. */
export type WitnessOutcome = 'cosigned' | 'late' | 'ahead' | 'forked' | 'failed';

/** Options of the cosigning. */
export interface CosigningOptions {
  readonly checkpoints: Checkpoints;
  readonly witnesses: readonly WitnessClient[];
  /** Number of cosignatures that a checkpoint needs. */
  readonly quorum: number;
  /** Called with the outcome of each request. */
  readonly onOutcome: (witness: string, outcome: WitnessOutcome, error: unknown) => void;
  /** The end of the log, confirmed by a majority. */
  readonly head: () => Promise<Head>;
  /**
   * Called with the reason each time that a witness is ahead of this log, or says that the log was forked, until enough
   * have cosigned since the start; and with undefined each time that enough do.
   */
  readonly onFault: (fault: Error | undefined) => void;
}

/** A witness, and the earliest time of its next request. */
interface Asked {
  readonly witness: WitnessClient;
  readonly backoff: Backoff;
  notBefore: number;
  /** Size of the largest checkpoint that it has cosigned since the start; -1 if there is none. */
  cosigned: number;
}

/**
 * Serves the newest checkpoint that enough witnesses have cosigned. Requests cosignatures in the background, in rounds
 * of one checkpoint each. A witness that is down, slow or faulty delays no write. It delays a round only once, because
 * it is then skipped for a while.
 */
export class CosignedCheckpoints implements Checkpoints {
  readonly #options: CosigningOptions;
  readonly #asked: readonly Asked[];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #cosigned: SignedCheckpoint | undefined;
  #since = monotonic();
  #fault: Error | undefined;

  /** Requests cosignatures until `close`. */
  constructor(options: CosigningOptions) {
    this.#options = options;
    this.#asked = options.witnesses.map((witness) => ({
      witness,
      backoff: new Backoff(FIRST_PAUSE, MAX_PAUSE),
      notBefore: 0,
      cosigned: -1,
    }));
    this.#running = this.#run();
  }

  /** Size of the last checkpoint that enough witnesses cosigned, if there is one, and when: otherwise of the start. */
  get status() {
    return { size: this.#cosigned?.size, since: this.#since };
  }

  async latest(): Promise<SignedCheckpoint> {
    if (this.#cosigned !== undefined) return this.#cosigned;
    await this.uncosigned();
    throw new PlantStoreError(
      'OVERLOADED',
      `not enough witnesses have cosigned a checkpoint yet; missing: ${this.missing(0).join(', ')}; try again`,
      { retryAfter: 5 },
    );
  }

  missing(size: number): readonly string[] {
    return this.#asked.filter(({ cosigned }) => cosigned < size).map(({ witness }) => witness.name);
  }

  /**
   * A checkpoint of the log as it is now, without cosignatures. Rejects as `latest` of the log's own checkpoints, and
   * also while a witness has seen what the log does not have.
   */
  async uncosigned(): Promise<SignedCheckpoint> {
    const signed = await this.#options.checkpoints.latest();
    if (this.#fault !== undefined) throw outrun(this.#fault);
    return signed;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      // LogCheckpoints tells why there is none.
      const checkpoint = await this.#options.checkpoints.latest().catch(() => undefined);
      const isNews = checkpoint !== undefined && checkpoint.size !== this.#cosigned?.size;
      if (checkpoint !== undefined && (isNews || monotonic() >= this.#since + REFRESH_INTERVAL))
        await this.#round(checkpoint);
      await pause(ROUND_INTERVAL, signal);
    }
  }

  /** Asks all witnesses that are not paused. Ends when all have answered, or shortly after enough have. */
  async #round(checkpoint: SignedCheckpoint): Promise<void> {
    const cosignatures: Signature[] = [];
    const enough = Promise.withResolvers<void>();
    const answers = this.#asked
      .filter(({ notBefore }) => monotonic() >= notBefore)
      .map(async (asked) => {
        const cosignature = await this.#ask(asked, checkpoint);
        if (cosignature === undefined) return;
        cosignatures.push(cosignature);
        if (cosignatures.length >= this.#options.quorum) {
          this.#take(checkpoint, cosignatures);
          enough.resolve();
        }
      });
    await Promise.race([Promise.all(answers), enough.promise.then(() => pause(ROUND_GRACE))]);
  }

  #take(checkpoint: SignedCheckpoint, cosignatures: readonly Signature[]): void {
    // A late cosignature may belong to an earlier round.
    if (this.#cosigned !== undefined && checkpoint.size < this.#cosigned.size) return;
    this.#cosigned = { ...checkpoint, note: checkpoint.note + cosignatures.map(formatSignature).join('') };
    this.#since = monotonic();
    this.#tell(undefined);
  }

  async #ask(asked: Asked, checkpoint: SignedCheckpoint): Promise<Signature | undefined> {
    const { witness } = asked;
    // The request may outlast this round.
    asked.notBefore = Number.POSITIVE_INFINITY;
    try {
      const cosignature = await witness.cosign(checkpoint, this.#stop.signal);
      askAgain(asked);
      asked.cosigned = Math.max(asked.cosigned, checkpoint.size);
      this.#options.onOutcome(witness.name, 'cosigned', undefined);
      return cosignature;
    } catch (error) {
      asked.notBefore = monotonic() + asked.backoff.next();
      if (this.#stop.signal.aborted) return undefined;
      const outcome = await this.#outcomeOf(error);
      // The witness is well, and the checkpoint of the next round is newer.
      if (outcome === 'late') askAgain(asked);
      this.#options.onOutcome(witness.name, outcome, error);
      if (this.#cosigned === undefined && (outcome === 'ahead' || outcome === 'forked')) this.#tell(error as Error);
      return undefined;
    }
  }

  /** A witness is ahead if it has seen what the log does not have now. */
  async #outcomeOf(error: unknown): Promise<WitnessOutcome> {
    if (error instanceof WitnessForkedError) return 'forked';
    if (!(error instanceof WitnessAheadError)) return 'failed';
    const head = await this.#options.head().catch(() => undefined);
    if (head === undefined) return 'failed';
    return error.seen <= head.position ? 'late' : 'ahead';
  }

  #tell(fault: Error | undefined): void {
    this.#fault = fault;
    this.#options.onFault(fault);
  }
}

function askAgain(asked: Asked): void {
  asked.backoff.reset();
  asked.notBefore = 0;
}

const outrun = (cause: Error) =>
  new PlantStoreError(
    'STORE_UNAVAILABLE',
    'a witness has cosigned events that this log does not have, so no proof is possible; tell the operator',
    { retryAfter: 5 },
    { cause },
  );
