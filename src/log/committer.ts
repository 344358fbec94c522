import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { type Command, plantIdOf } from '../domain/decider.ts';
import { PlantStoreError, toPlantStoreError } from '../domain/errors.ts';
import { idempotencyString } from '../domain/idempotency.ts';
import { keyString } from '../domain/plant.ts';
import type { Appender } from './appender.ts';
import type { Follower } from './follower.ts';
import type { LogObserver } from './observer.ts';
import { type Committed, type Keyed, type Known, type Plan, plan } from './plan.ts';
import { type StateReader, type States, together } from './states.ts';
import type { Tail } from './tail.ts';
import { unavailable } from './unavailable.ts';

/** Longest pause after the first conflict with another instance, in milliseconds; about as long as a few appends take. */
const PAUSE = 16;
/** Longest pause after any conflict. */
const MAX_PAUSE = 64;

/** Bounds of the committer. */
export interface CommitterLimits {
  /** Most commands that may wait; more are refused at once. */
  readonly queue: number;
  /** Most commands that one append decides. */
  readonly batch: number;
  /** Most bytes that the tail may take; while it has more, commands are refused. */
  readonly tailBytes: number;
  /** Milliseconds after which a command is given up. */
  readonly patience: number;
}

/** Tells whether whoever sent a command has given it up. An AbortSignal does. */
export type Cancellation = Pick<AbortSignal, 'aborted'>;

interface Waiting extends Keyed {
  /** Of performance.now(), as all durations are: the clock of the machine may jump. */
  readonly since: number;
  readonly cancellation: Cancellation | undefined;
  readonly resolve: (event: Committed) => void;
  readonly reject: (error: Error) => void;
}

/** Commands whose keys have been read. */
interface Loaded {
  readonly commands: Waiting[];
  readonly states: States;
}

/**
 * Group commit. Commands queue; while one append is in flight the next batch gathers and its keys are read. A batch is decided
 * in order against the state at the tail's head and appended onto that head only, so each command is decided once, at one position.
 */
export class Committer {
  readonly #tail: Tail;
  readonly #states: StateReader;
  readonly #follower: Follower;
  readonly #appender: Appender;
  readonly #limits: CommitterLimits;
  readonly #observer: LogObserver | undefined;
  readonly #waiting: Waiting[] = [];
  #loaded: Loaded[] = [];
  #pending = 0;
  #loading = false;
  #committing = false;
  #closed = false;
  #idle: (() => void) | undefined;

  constructor(
    tail: Tail,
    states: StateReader,
    follower: Follower,
    appender: Appender,
    limits: CommitterLimits,
    observer?: LogObserver,
  ) {
    this.#tail = tail;
    this.#states = states;
    this.#follower = follower;
    this.#appender = appender;
    this.#limits = limits;
    this.#observer = observer;
  }

  /** Commands taken and not yet answered. */
  get pending(): number {
    return this.#pending;
  }

  /**
   * Resolves with the command's event once it is durable. Rejects with the decider's error; with OVERLOADED when too much
   * waits already; with STORE_UNAVAILABLE when it was not applied; with OUTCOME_UNKNOWN when it may have been. A command
   * that was given up before it is decided is not applied.
   */
  submit(command: Command, cancellation?: Cancellation): Promise<Committed> {
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      this.#observer?.refused(refusal.reason);
      return Promise.reject(refusal);
    }
    return new Promise((resolve, reject) => {
      this.#pending++;
      const key = keyString(command.owner, plantIdOf(command));
      const idempotency = idempotencyString(command);
      this.#waiting.push({ command, key, idempotency, since: performance.now(), cancellation, resolve, reject });
      if (!this.#loading) void this.#load();
    });
  }

  #refusal(): PlantStoreError | undefined {
    const overloaded = (why: string) => new PlantStoreError('OVERLOADED', `${why}; try again`, { retryAfter: 1 });
    if (this.#closed) return overloaded('this instance is shutting down');
    if (this.#pending >= this.#limits.queue) return overloaded('too many commands are waiting');
    if (this.#tail.bytes >= this.#limits.tailBytes) return overloaded('the read model is too far behind the log');
    return undefined;
  }

  /** Refuses new commands and resolves when all that were taken are answered. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#pending === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  /** Reads the keys of what waits, a batch at a time, ahead of the commit. */
  async #load(): Promise<void> {
    this.#loading = true;
    // One turn of the event loop, so that commands that arrived together are committed together.
    await turn();
    while (this.#waiting.length > 0) {
      const commands = this.#waiting.splice(0, this.#limits.batch).filter((waiting) => !this.#withdrawn(waiting));
      if (commands.length === 0) continue;
      try {
        this.#loaded.push({ commands, states: await this.#states.load(commands) });
      } catch (error) {
        for (const waiting of commands) this.#answer(waiting, error as Error);
      }
      if (!this.#committing) void this.#commitAll();
    }
    this.#loading = false;
  }

  #withdrawn(waiting: Waiting): boolean {
    if (waiting.cancellation?.aborted === true) {
      this.#answer(waiting, new PlantStoreError('CANCELLED', 'the caller gave up before the command was decided'));
      return true;
    }
    if (performance.now() - waiting.since < this.#limits.patience) return false;
    this.#answer(
      waiting,
      new PlantStoreError('STORE_UNAVAILABLE', 'not applied in time; try again', { retryAfter: 1 }),
    );
    return true;
  }

  async #commitAll(): Promise<void> {
    this.#committing = true;
    while (this.#loaded.length > 0) {
      const batch = this.#nextBatch();
      // They may have waited for the append before theirs.
      const commands = batch.flatMap((loaded) => loaded.commands).filter((waiting) => !this.#withdrawn(waiting));
      try {
        await this.#commit(commands, together(batch.map(({ states }) => states)));
      } catch (error) {
        for (const waiting of commands) this.#answer(waiting, unavailable(error));
      } finally {
        for (const { states } of batch) states.release();
      }
    }
    this.#committing = false;
  }

  /** All that is loaded, up to the size of a batch, but at least one load. */
  #nextBatch(): Loaded[] {
    let size = 0;
    const end = this.#loaded.findIndex(({ commands }, index) => {
      size += commands.length;
      return index > 0 && size > this.#limits.batch;
    });
    return this.#loaded.splice(0, end === -1 ? this.#loaded.length : end);
  }

  /** Commits a batch. Removes the commands from it as they are answered; rejects with what the rest have to be told. */
  async #commit(commands: Waiting[], known: Known): Promise<void> {
    const deadline = performance.now() + this.#limits.patience;
    let synced = false;
    let conflicts = 0;
    while (commands.length > 0) {
      const decided = plan(this.#tail.head, commands, known, Date.now());
      if (decided.events.length === 0) {
        // Nothing is appended that could show that the tail is not behind the log: ask before refusing anybody.
        this.#settle(commands, decided, synced ? Number.POSITIVE_INFINITY : 0);
        if (commands.length > 0) await this.#follower.sync();
        synced = true;
        continue;
      }
      const begun = performance.now();
      const { landed, certain } = await this.#appender.append(decided.events, deadline);
      this.#observer?.appended({
        events: decided.events.slice(0, landed),
        seconds: (performance.now() - begun) / 1000,
        outcome: landed === decided.events.length ? 'landed' : certain ? 'conflict' : 'unknown',
      });
      this.#settle(commands, decided, landed);
      if (!certain)
        throw new PlantStoreError(
          'OUTCOME_UNKNOWN',
          'maybe applied; try again, with the same Idempotency-Key if you sent one',
          { retryAfter: 1 },
        );
      if (commands.length > 0 && performance.now() >= deadline)
        throw new PlantStoreError('STORE_UNAVAILABLE', 'not applied: other instances were faster; try again', {
          retryAfter: 1,
        });
      if (commands.length > 0) await this.#giveWay(++conflicts);
    }
  }

  /** Lets the others go first for a while, longer after each conflict, and then learns where the log ends now. */
  async #giveWay(conflicts: number): Promise<void> {
    await sleep(Math.random() * Math.min(PAUSE * 2 ** (conflicts - 1), MAX_PAUSE));
    await this.#follower.sync();
  }

  /** Answers the commands whose verdicts stand when so many of the plan's events have landed, and keeps the rest. */
  #settle(commands: Waiting[], { verdicts }: Plan, landed: number): void {
    const left = commands.filter((waiting, index) => {
      const { outcome, needs } = verdicts[index]!;
      if (landed < needs) return true;
      this.#answer(waiting, outcome);
      return false;
    });
    commands.splice(0, commands.length, ...left);
  }

  #answer({ resolve, reject }: Waiting, outcome: Committed | Error): void {
    if (outcome instanceof Error) {
      this.#observer?.refused(toPlantStoreError(outcome).reason);
      reject(outcome);
    } else resolve(outcome);
    this.#pending--;
    if (this.#pending === 0) this.#idle?.();
  }
}
