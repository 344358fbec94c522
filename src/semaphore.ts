import { PlantStoreError } from './domain/errors.ts';
import { clearTimer, nextTurn, setTimer, type Timer } from './time/host.ts';

/** The error of a caller for whom no permit became free in time. One for all: so it costs nothing a call. */
export const OVERLOADED = new PlantStoreError(
  'OVERLOADED',
  'the service is busy and has not begun the request; try again',
);

/** The error of a caller whose owner held its whole share for too long. */
export const OWNER_BUSY = new PlantStoreError(
  'TOO_MANY_REQUESTS',
  'too many requests of this owner are being served; wait for their answers',
);

/** The error of a caller that waits no more. */
export const CLIENT_LEFT = new PlantStoreError('CANCELLED', 'the client went away while its request waited');

/** The owner of all callers without a token: they share permits, and are told of no owner. No owner has this name. */
export const NOBODY = '';

/** How many permits a semaphore has. */
export interface SemaphoreOptions {
  readonly permits: number;
  /**
   * Most permits of one owner, who also never has more than are then left: so few owners cannot take all of them.
   * Default: all, and then no owner is told that it is its own doing.
   */
  readonly share?: number;
  /** Milliseconds that a caller may wait. Default: as long as it takes. */
  readonly maxWait?: number;
  /** Most callers of one owner that wait. Further ones are refused at once. */
  readonly maxWaiting: number;
}

/** The right to do the work that a semaphore bounds. Dispose of it once; further disposals have no effect. */
export interface Permit extends Disposable {}

interface Waiter {
  grant(permit: Permit): void;
  fail(error: PlantStoreError): void;
  timer: Timer | undefined;
}

class Share {
  readonly owner: string;
  used = 0;
  /** In order of arrival. */
  readonly waiting: Waiter[] = [];

  constructor(owner: string) {
    this.owner = owner;
  }
}

class HeldPermit implements Permit {
  readonly #share: Share;
  readonly #release: (share: Share) => void;
  #isHeld = true;

  constructor(share: Share, release: (share: Share) => void) {
    this.#share = share;
    this.#release = release;
  }

  [Symbol.dispose](): void {
    if (this.#isHeld) this.#release(this.#share);
    this.#isHeld = false;
  }
}

/** Bounds concurrent work: all of it, and that of one owner. Owners take turns, their callers in order of arrival. */
export class Semaphore {
  readonly #options: SemaphoreOptions;
  #free: number;
  readonly #shares = new Map<string, Share>();
  /** Owners with callers that wait. The one whose turn it is comes first. */
  readonly #turns = new Set<Share>();
  #isGranting = false;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
    this.#free = options.permits;
  }

  get used(): number {
    return this.#options.permits - this.#free;
  }

  get waiting(): number {
    let waiting = 0;
    for (const share of this.#turns) waiting += share.waiting.length;
    return waiting;
  }

  /**
   * A permit, at once if there is one. Rejects with OVERLOADED, or with TOO_MANY_REQUESTS if the owner's own callers
   * hold its whole share.
   *
   * `waits` is called if the caller waits, with what makes it wait no more: the promise then rejects with CLIENT_LEFT.
   */
  acquire(owner: string, waits?: (waiting: Disposable) => void): Permit | Promise<Permit> {
    const share = this.#shareOf(owner);
    // A permit that is about to be given out is for those that wait already, also of other owners.
    const isFree = this.#free > 0 && !this.#isGranting;
    if (isFree && !this.#isUsedUp(share) && share.waiting.length === 0) return this.#take(share);
    if (share.waiting.length >= this.#options.maxWaiting) {
      this.#leave(share);
      return Promise.reject(this.#errorOf(share));
    }
    return new Promise((grant, fail) => {
      const waiter: Waiter = { grant, fail, timer: undefined };
      this.#wait(share, waiter);
      waits?.({ [Symbol.dispose]: () => this.#giveUp(share, waiter, CLIENT_LEFT) });
    });
  }

  #wait(share: Share, waiter: Waiter): void {
    share.waiting.push(waiter);
    this.#turns.add(share);
    const { maxWait } = this.#options;
    if (maxWait === undefined) return;
    waiter.timer = setTimer(() => this.#giveUp(share, waiter, this.#errorOf(share)), maxWait);
  }

  /** No effect if it has its permit, or has failed. */
  #giveUp(share: Share, waiter: Waiter, why: PlantStoreError): void {
    const place = share.waiting.indexOf(waiter);
    if (place < 0) return;
    clearTimer(waiter.timer);
    share.waiting.splice(place, 1);
    if (share.waiting.length === 0) this.#turns.delete(share);
    this.#leave(share);
    waiter.fail(why);
  }

  #errorOf(share: Share): PlantStoreError {
    return share.owner !== NOBODY && share.used > 0 && this.#isUsedUp(share) ? OWNER_BUSY : OVERLOADED;
  }

  /** Whether an owner has all that it may have. To take the last permit, an owner must have none. */
  #isUsedUp({ used }: Share): boolean {
    const { share } = this.#options;
    return share !== undefined && (used >= share || (this.#free > 0 && used >= this.#free));
  }

  #take(share: Share): Permit {
    this.#free--;
    share.used++;
    return new HeldPermit(share, this.#release);
  }

  readonly #release = (share: Share): void => {
    this.#free++;
    share.used--;
    this.#leave(share);
    if (this.#turns.size > 0) this.#grantSoon();
  };

  /** Forgets an owner that has no permit and waits for none. */
  #leave({ owner, used, waiting }: Share): void {
    if (used === 0 && waiting.length === 0) this.#shares.delete(owner);
  }

  /** Gives out free permits in the next turn of the event loop: on SQLite, work would else be done in one turn. */
  #grant(): void {
    this.#isGranting = false;
    for (const share of [...this.#turns]) {
      if (this.#free === 0) return;
      if (this.#isUsedUp(share)) continue;
      this.#turns.delete(share);
      const { timer, grant } = share.waiting.shift()!;
      clearTimer(timer);
      if (share.waiting.length > 0) this.#turns.add(share);
      grant(this.#take(share));
    }
    if (this.#free > 0 && this.#hasTurn()) this.#grantSoon();
  }

  #grantSoon(): void {
    if (this.#isGranting) return;
    this.#isGranting = true;
    nextTurn(() => this.#grant());
  }

  #hasTurn(): boolean {
    for (const share of this.#turns) if (!this.#isUsedUp(share)) return true;
    return false;
  }

  #shareOf(owner: string): Share {
    const known = this.#shares.get(owner);
    if (known !== undefined) return known;
    const share = new Share(owner);
    this.#shares.set(owner, share);
    return share;
  }
}
