import type { Host, Timer } from '../../../src/time/host.ts';
import type { Random } from './random.ts';
import type { Scheduler, Task } from './scheduler.ts';

/** When the simulation begins, in milliseconds since 1970. */
export const EPOCH = Date.UTC(2026, 0, 1);

/** Milliseconds until the next turn of the event loop. */
const TURN = 0.01;

class SimulatedTimer implements Timer {
  task: Task | undefined;

  unref(): this {
    return this;
  }
}

/**
 * A process, as the machine of the code in it: with clocks of its own. It may be frozen, so that nothing happens in it
 * while time goes on, and killed, so that nothing happens in it any more.
 */
export class Process implements Host {
  readonly name: string;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #born: number;
  /** How far its wall clock is ahead. */
  #ahead = 0;
  #state: 'running' | 'frozen' | 'dead' = 'running';
  #accident: { calls: number; readonly run: () => void } | undefined;
  /** What is due since it was frozen. */
  #held: Task[] = [];

  constructor(name: string, scheduler: Scheduler, random: Random) {
    this.name = name;
    this.#scheduler = scheduler;
    this.#random = random;
    // As performance.now() does, the monotonic clock counts from the start of the process.
    this.#born = scheduler.now;
  }

  get isDead(): boolean {
    return this.#state === 'dead';
  }

  get isFrozen(): boolean {
    return this.#state === 'frozen';
  }

  /** Whether a task that is due is to be done now. */
  mayRun(task: Task): boolean {
    if (this.#state === 'frozen') this.#held.push(task);
    return this.#state === 'running';
  }

  /** Does something in this process, in a turn of its own. */
  do(run: () => void): void {
    this.#scheduler.after(TURN, this, run);
  }

  /** Calls back at a call of the database, so many calls from now. */
  afterCalls(calls: number, run: () => void): void {
    this.#accident = { calls, run };
  }

  /** A call of the database is made. */
  called(): void {
    if (this.#accident === undefined || --this.#accident.calls > 0) return;
    const { run } = this.#accident;
    this.#accident = undefined;
    run();
  }

  freeze(): void {
    if (this.#state === 'running') this.#state = 'frozen';
  }

  /** What was due meanwhile is done now, in the order in which it was due. */
  wake(): void {
    if (this.#state !== 'frozen') return;
    this.#state = 'running';
    for (const task of this.#held.splice(0)) {
      const again = this.#scheduler.after(0, this, () => {
        if (!task.isCancelled) task.run();
      });
      again.isCancelled = task.isCancelled;
    }
  }

  kill(): void {
    this.#state = 'dead';
    this.#held = [];
  }

  /** Sets the wall clock. */
  jump(milliseconds: number): void {
    this.#ahead += milliseconds;
  }

  wallTime(): number {
    return Math.floor(EPOCH + this.#scheduler.now + this.#ahead);
  }

  monotonic(): number {
    return this.#scheduler.now - this.#born;
  }

  cpuTime(): number {
    return 0;
  }

  setTimer(callback: () => void, milliseconds: number): Timer {
    const timer = new SimulatedTimer();
    timer.task = this.#scheduler.after(Math.max(milliseconds, 1), this, callback);
    return timer;
  }

  setRepeating(callback: () => void, milliseconds: number): Timer {
    const timer = new SimulatedTimer();
    const set = () => {
      timer.task = this.#scheduler.after(Math.max(milliseconds, 1), this, () => {
        set();
        callback();
      });
    };
    set();
    return timer;
  }

  clearTimer(timer: Timer | undefined): void {
    const task = (timer as SimulatedTimer | undefined)?.task;
    if (task !== undefined) task.isCancelled = true;
  }

  nextTurn(callback: () => void): void {
    this.#scheduler.after(TURN, this, callback);
  }

  yieldTurn(): Promise<void> {
    return new Promise((resolve) => this.nextTurn(resolve));
  }

  random(): number {
    return this.#random.fraction();
  }

  randomBytes(size: number): Uint8Array {
    return Uint8Array.from({ length: size }, () => this.#random.uint32() & 0xff);
  }

  randomUUID(): string {
    const hex = Buffer.from(this.randomBytes(16)).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
  }
}

/** The machine of whatever process does a task. Code that runs outside all processes has no machine. */
export function machineOf(scheduler: Scheduler): Host {
  const current = (): Host => {
    if (scheduler.current === undefined) throw new Error('code under test runs outside all processes');
    return scheduler.current;
  };
  return {
    wallTime: () => current().wallTime(),
    monotonic: () => current().monotonic(),
    cpuTime: () => current().cpuTime(),
    setTimer: (callback, milliseconds) => current().setTimer(callback, milliseconds),
    setRepeating: (callback, milliseconds) => current().setRepeating(callback, milliseconds),
    clearTimer: (timer) => current().clearTimer(timer),
    nextTurn: (callback) => current().nextTurn(callback),
    yieldTurn: () => current().yieldTurn(),
    random: () => current().random(),
    randomBytes: (size) => current().randomBytes(size),
    randomUUID: () => current().randomUUID(),
  };
}
