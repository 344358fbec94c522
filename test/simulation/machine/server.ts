import type { Plan } from '../plan.ts';
import { type Conditions, type Database, type Done, IDEAL, type Needs } from '../store/database.ts';
import type { State } from '../store/state.ts';
import type { Process } from './process.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** How often calls go wrong, and how long they take. Members are probabilities, or milliseconds. */
export interface Weather {
  /** The call is not done, and its caller hears so. */
  readonly refused: number;
  /** The call is done, and its caller hears of a fault. */
  readonly lost: number;
  /** The caller hears of a fault, and the call is done later. */
  readonly late: number;
  /** The call, or its answer, takes up to SLOW. */
  readonly slow: number;
  /** A read sees what a majority had up to OLD before. */
  readonly old: number;
  /** Most milliseconds of a usual way to the database, or back. */
  readonly way: number;
  /** Most milliseconds until a majority has a write. */
  readonly replication: number;
}

/** A real store's driver gives a call up after this time. */
const SLOW = 8_000;
/** Longest time after which a call that was given up is done. */
const LATE = 20_000;
/** Longest time for which a server that is no longer the primary may believe that it is. */
export const OLD = 10_000;

class Unreachable extends Error {}

interface Waiting {
  readonly version: number;
  readonly heard: (committed: boolean) => void;
}

/** A replica set: what happens between a database and the processes that call it. */
export class Server {
  readonly database: Database;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  #weather: Weather;
  /** Writes that no majority has yet. */
  #waiting: Waiting[] = [];
  #failovers = 0;
  #restores = 0;
  /** No majority gets a write before this time. */
  #heldUntil = 0;
  #fullUntil = 0;
  /** Processes that cannot reach the server, until when. */
  readonly #away = new Map<Process, number>();
  /** Processes that reach a server that was deposed: until when, and what it has. */
  readonly #deposed = new Map<Process, { readonly until: number; readonly version: number }>();
  readonly #isStrict: boolean;
  readonly #isEmbedded: boolean;

  /**
   * `isEmbedded`: calls are done in the step of their callers, as SQLite does them, and no majority is needed.
   * `isStrict`: reads that must be fresh make sure that the server which answers was not deposed.
   */
  constructor(
    database: Database,
    scheduler: Scheduler,
    random: Random,
    { weather, isEmbedded, strictReads }: Pick<Plan, 'weather' | 'isEmbedded' | 'strictReads'>,
  ) {
    this.#isEmbedded = isEmbedded;
    this.#isStrict = strictReads;
    this.database = database;
    this.#scheduler = scheduler;
    this.#random = random;
    this.#weather = weather;
  }

  /** From now on faults are as likely as this. */
  change(weather: Weather): void {
    this.#weather = weather;
  }

  /** The way from a process to the database. */
  connection(process: Process, purpose: string): Conditions {
    const random = this.#random.of(`${process.name}/${purpose}`);
    const isFull = () => this.#fullUntil > this.#scheduler.now;
    if (this.#isEmbedded)
      return { ...IDEAL, isFull, call: (what, work) => this.#callHere(process, random, what, work) };
    return {
      call: (what, work, needs = 'a server') => this.#call(process, random, { what, work, needs }),
      newest: () => this.#deposedFor(process)?.version ?? Number.POSITIVE_INFINITY,
      isFull,
      isStrict: this.#isStrict,
      seen: (oldest, newest) => this.#seen(random, oldest, newest),
    };
  }

  /** Nothing can be appended for a time. */
  fill(milliseconds: number): void {
    this.#fullUntil = this.#scheduler.now + milliseconds;
  }

  /** A process cannot reach the server for a time. */
  cutOff(process: Process, milliseconds: number): void {
    this.#away.set(process, this.#scheduler.now + milliseconds);
  }

  /** For a time a process reaches only a server that was deposed and does not know it. Others reach the new one. */
  depose(process: Process, milliseconds: number): void {
    const { version } = this.database.committed;
    this.#deposed.set(process, { until: this.#scheduler.now + milliseconds, version });
  }

  /** Replication stands still for a time. */
  holdReplication(milliseconds: number): void {
    this.#heldUntil = this.#scheduler.now + milliseconds;
  }

  /** Another server becomes the primary: what no majority has is forgotten. */
  failOver(): void {
    this.#failovers++;
    this.#heldUntil = 0;
    this.database.failOver();
    for (const { heard } of this.#waiting.splice(0)) heard(false);
  }

  /** A backup takes the place of the database. Calls that are under way are never done. */
  restore(backup: State): void {
    this.#restores++;
    this.#failovers++;
    this.#deposed.clear();
    this.database.restore(backup);
    for (const { heard } of this.#waiting.splice(0)) heard(false);
  }

  /** Ends every fault. */
  heal(): void {
    this.#away.clear();
    this.#deposed.clear();
    this.#heldUntil = 0;
    this.#fullUntil = 0;
    this.change({ refused: 0, lost: 0, late: 0, slow: 0, old: 0, way: 1, replication: 1 });
  }

  #seen(random: Random, oldest: number, newest: number): number {
    if (!random.chance(this.#weather.old)) return newest;
    const { database } = this;
    return Math.max(oldest, database.versionAt(database.clock() - random.scaled(1, OLD)));
  }

  /** A process that meets with an accident in this call has done the work by then, or does it once it goes on. */
  #callHere<T>(process: Process, random: Random, what: string, work: () => Done<T>): Promise<T> {
    process.called();
    if (!this.#reaches(process)) return Promise.reject(new Unreachable(`${what}: refused`));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const done = (): (() => void) => {
      try {
        const { result, version } = work();
        this.database.commit(version);
        return () => resolve(result);
      } catch (error) {
        return () => reject(error);
      }
    };
    if (!process.isDead && !process.isFrozen) done()();
    else if (random.chance(0.5)) this.#scheduler.after(0, process, done());
    else this.#scheduler.after(0, process, () => done()());
    return promise;
  }

  #call<T>(
    process: Process,
    random: Random,
    { what, work, needs }: { what: string; work: () => Done<T>; needs: Needs },
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // A call that has left arrives, whatever becomes of the way back.
    const hasLeft = this.#reaches(process) && !(needs === 'a majority' && this.#deposedFor(process) !== undefined);
    process.called();
    const { refused, lost, late, slow, way } = this.#weather;
    const time = () => (random.chance(slow) ? random.scaled(10, SLOW) : random.scaled(0.02, way));
    const [there, back] = [time(), time()];
    const draw = random.fraction();
    const restores = this.#restores;
    const fault = (why: string) => () => reject(new Unreachable(`${what}: ${why}`));
    const tell = (settle: () => void) => {
      if (!this.#reaches(process)) settle = fault('no answer');
      this.#scheduler.after(back, process, settle);
    };
    const done = () => {
      if (restores !== this.#restores) return tell(fault('the database was replaced'));
      try {
        const { result, version } = work();
        const isLost = draw < refused + lost;
        this.#whenCommitted(version, (committed) => {
          if (committed) tell(isLost ? fault('the answer is lost') : () => resolve(result));
          else if (random.chance(0.5)) tell(fault('another server is the primary'));
          // A driver may send a write again.
          else this.#scheduler.after(random.scaled(1, 100), undefined, done);
        });
      } catch (error) {
        tell(() => reject(error));
      }
    };
    this.#scheduler.after(there, undefined, () => {
      if (!hasLeft || draw < refused) tell(fault('refused'));
      else if (draw >= refused + lost && draw < refused + lost + late) {
        tell(fault('given up'));
        this.#scheduler.after(random.scaled(1, LATE), undefined, () => {
          if (restores === this.#restores) doQuietly(work, this);
        });
      } else done();
    });
    return promise;
  }

  /** A majority has what was written, some time after it was. */
  replicate(version: number): void {
    const failovers = this.#failovers;
    const due =
      Math.max(this.#heldUntil - this.#scheduler.now, 0) + this.#random.scaled(0.01, this.#weather.replication);
    this.#scheduler.after(due, undefined, () => {
      if (failovers !== this.#failovers) return;
      if (this.#heldUntil > this.#scheduler.now) return this.replicate(version);
      this.database.commit(version);
      const { version: committed } = this.database.committed;
      const heard = this.#waiting.filter((waiting) => waiting.version <= committed);
      this.#waiting = this.#waiting.filter((waiting) => waiting.version > committed);
      for (const waiting of heard) waiting.heard(true);
    });
  }

  #whenCommitted(version: number, heard: (committed: boolean) => void): void {
    if (version <= this.database.committed.version) heard(true);
    else {
      this.#waiting.push({ version, heard });
      this.replicate(version);
    }
  }

  #deposedFor(process: Process): { readonly version: number } | undefined {
    const deposed = this.#deposed.get(process);
    return deposed !== undefined && deposed.until > this.#scheduler.now ? deposed : undefined;
  }

  #reaches(process: Process): boolean {
    return (this.#away.get(process) ?? 0) <= this.#scheduler.now;
  }
}

/** Does a call whose caller does not wait any more. */
function doQuietly(work: () => Done<unknown>, server: Server): void {
  try {
    server.replicate(work().version);
  } catch {
    // Nobody hears of it.
  }
}
