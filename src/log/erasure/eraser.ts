import type { EraseOwner } from '../../domain/decider.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { monotonic, randomBytes } from '../../time/host.ts';
import { pause } from '../../time/pause.ts';
import { subjectOf } from '../event/chain.ts';
import { type Committed, type LoggedEvent, plantEventOf } from '../event/event.ts';
import type { Store, Unfinished } from '../store.ts';
import type { Follower } from '../tail/follower.ts';
import type { Tail } from '../tail/tail.ts';
import type { Finisher, FinishStep } from './finisher.ts';

/** Whom to erase, and at whose request. */
export interface EraseRequest {
  readonly owner: string;
  readonly actor: string;
  readonly issuer?: string | undefined;
  /** Key of the event's subject, of KEY_BYTES. Undefined: a random one. */
  readonly key?: Uint8Array | undefined;
}

/** The progress of an erasure. */
export interface EraseProgress {
  /** Counting events, appending the event, and what the finisher does. */
  readonly step: 'count' | 'event' | FinishStep;
  /** Number of the owner's events that are done, where the step counts them. */
  readonly done?: number;
  readonly total?: number;
  /** Position of the OwnerErased event and key of its subject, once, when it was appended. */
  readonly appended?: { readonly position: number; readonly key: Uint8Array };
}

/** The result of an erasure. Without a position, the owner had no events with content and nothing was done. */
export interface Erased {
  /** Position of the OwnerErased event. */
  readonly position: number | undefined;
  /** Events that lost their content. */
  readonly events: number;
  /** Key of the event's subject. Undefined without a position. */
  readonly key: Uint8Array | undefined;
}

/** The parts that the eraser uses. */
export interface EraserParts {
  readonly store: Store;
  readonly tail: Tail;
  readonly follower: Follower;
  readonly finisher: Finisher;
  readonly submit: (command: EraseOwner) => Promise<Committed>;
}

/** Bytes of the key of a subject. */
export const KEY_BYTES = 16;
/** Events that may come while others are counted, which the writer counts. */
const FEW = 1_000;
/** Most attempts to count faster than the log moves on. */
const ATTEMPTS = 20;
/** Milliseconds between two looks at what another instance finishes. */
const LOOK = 50;
/** Milliseconds without a step of the read model after which nobody waits for it. */
const PATIENCE = 60_000;

/** The owner's events with content up to a position. */
interface Counted {
  readonly counted: number;
  readonly countedTo: number;
}

const NOTHING: Erased = { position: undefined, events: 0, key: undefined };

/**
 * Erases owners. OwnerErased is an event like any other: it is decided at the head, and from its position on the owner has
 * no plants. What is left to do concerns only earlier positions; see Finisher.
 *
 * Its number of erased events is exact: this instance counts up to a position, and the writer adds what came after.
 */
export class Eraser {
  readonly #parts: EraserParts;

  constructor(parts: EraserParts) {
    this.#parts = parts;
  }

  /**
   * Erases an owner. Yields progress, and the result last: once nothing of the owner from before is in the store, but for
   * the name until the topic has the event. With the key of an earlier call, it waits for the end of that erasure, and
   * erases nothing more. Rejects with MayNotEraseError, with OWNER_BEING_ERASED when the read model does not move or
   * another process reads the SQLite database, and when the store cannot be reached; what has begun then continues later.
   */
  async *erase(request: EraseRequest): AsyncGenerator<EraseProgress | Erased> {
    const { store, follower, tail } = this.#parts;
    await store.mayErase();
    let earlier = NOTHING;
    const key = request.key ?? randomBytes(KEY_BYTES);
    for (let attempt = 1; ; attempt++) {
      await follower.sync();
      const end = tail.head.position;
      // Later erasures have not removed anything yet that is counted, or are found by who counts on.
      earlier = (yield* this.#finishEarlier(request.owner)) ?? earlier;
      const counted = yield* this.#count(request.owner, end);
      // After the count: what another call with the key removed meanwhile was not counted, but its event is found.
      const done = request.key && (yield* this.#erasedWith(request.owner, request.key));
      if (done !== undefined) return yield done;
      if (counted?.counted === 0) return yield earlier;
      try {
        if (counted === undefined) throw movedOn();
        yield { step: 'event' };
        // Before the event, at which every instance reads it again. Then no log says any more who this owner is.
        await store.ownerKey(true);
        const { position } = await this.#parts.submit({ type: 'EraseOwner', ...request, ...counted, key });
        yield { step: 'read_model', appended: { position, key } };
        yield* this.#finished(position);
        return yield { position, events: await erasedAt(store, position), key };
      } catch (error) {
        if (!isOutdated(error) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** The outcome of the erasure of an owner with a key, which it finishes. Undefined: there is none. */
  async *#erasedWith(owner: string, key: Uint8Array): AsyncGenerator<EraseProgress, Erased | undefined> {
    const { store, follower, tail } = this.#parts;
    await follower.sync();
    const subject = subjectOf({ owner, key });
    for await (const events of store.read(0, { to: tail.head.position })) {
      yield { step: 'count' };
      for (const { position, event } of events) {
        if (event?.type !== 'OwnerErased' || event.subject === undefined) continue;
        if (Buffer.compare(event.subject, subject) !== 0) continue;
        yield* this.#finished(position);
        return { position, events: event.erased, key };
      }
    }
    return undefined;
  }

  /** Finishes the owner's erasures that have begun. Returns the outcome of the last. */
  async *#finishEarlier(owner: string): AsyncGenerator<EraseProgress, Erased | undefined> {
    let last: Erased | undefined;
    for (const unfinished of await this.#parts.store.unfinished()) {
      const { position, erases } = unfinished;
      if (erases.owner !== owner) continue;
      yield* this.#finished(position);
      last = { position, events: eventsErased(unfinished), key: erases.key };
    }
    return last;
  }

  /** Finishes an erasure, but for the topic, or waits for another instance that does. */
  async *#finished(position: number): AsyncGenerator<EraseProgress> {
    const { store, finisher } = this.#parts;
    await this.#read(position);
    let [reached, deadline] = [0, monotonic() + PATIENCE];
    for (;;) {
      const mine = (await store.unfinished()).find((each) => each.position === position);
      if (mine === undefined || finisher.waitsForTopic(mine)) return;
      const checkpoint = await store.checkpoint();
      if (checkpoint < position) {
        if (checkpoint > reached) [reached, deadline] = [checkpoint, monotonic() + PATIENCE];
        if (monotonic() > deadline) throw stuck(position);
        yield { step: 'read_model' };
      } else yield* this.#during(finisher.finish(), mine);
      await pause(LOOK);
    }
  }

  /**
   * Resolves when this instance has read an event that another one may have appended. What it reads from then on is no
   * older: before, a server that was deposed would know of no erasure, as if this one were complete.
   */
  async #read(position: number): Promise<void> {
    const { follower, tail } = this.#parts;
    const deadline = monotonic() + PATIENCE;
    for (;;) {
      await follower.sync();
      if (tail.head.position >= position) return;
      if (monotonic() > deadline) throw unread(position);
      await pause(LOOK);
    }
  }

  async *#during(work: Promise<void>, erasure: Unfinished): AsyncGenerator<EraseProgress> {
    let isOver = false;
    const over = work.finally(() => {
      isOver = true;
    });
    // Whoever reads the progress may stop at any time.
    over.catch(() => {});
    while (!isOver) {
      await Promise.race([over, pause(LOOK)]);
      const progress = this.#parts.finisher.progress(erasure.position);
      if (progress !== undefined) yield progressOf(progress, erasure);
    }
    await over;
  }

  /** Counts the owner's events with content, first up to `end`. Undefined: an erasure of the owner came meanwhile. */
  async *#count(owner: string, end: number): AsyncGenerator<EraseProgress, Counted | undefined> {
    const { store, tail } = this.#parts;
    let counted = 0;
    let countedTo = end;
    for await (const events of store.read(0, { to: countedTo, owner })) {
      counted += events.length;
      yield { step: 'count', done: counted };
    }
    // What came meanwhile is read whole, because an erasure of the owner may be among it.
    while (tail.head.position - countedTo > FEW) {
      const to = tail.head.position;
      for await (const events of store.read(countedTo, { to }))
        for (const event of events) {
          if (event.type === 'OwnerErased' && (event.erases?.owner ?? owner) === owner) return undefined;
          if (plantEventOf(event)?.owner === owner) counted++;
        }
      countedTo = to;
    }
    return { counted, countedTo };
  }
}

const stuck = (position: number) =>
  new PlantStoreError(
    'OWNER_BEING_ERASED',
    `the erasure has begun at position ${position}, and waits for the read model, which does not move; repeat the call with the same subject key to wait for the end`,
    { retryAfter: 10 },
  );

const unread = (position: number) =>
  new PlantStoreError(
    'OWNER_BEING_ERASED',
    `the erasure has begun at position ${position}, which this instance cannot read yet; repeat the call with the same subject key to wait for the end`,
    { retryAfter: 10 },
  );

const movedOn = () =>
  new PlantStoreError('COUNT_OUTDATED', 'the owner was erased meanwhile; try again', { retryAfter: 1 });

const isOutdated = (error: unknown): boolean => error instanceof PlantStoreError && error.reason === 'COUNT_OUTDATED';

const eventsErased = ({ event }: LoggedEvent): number => (event?.type === 'OwnerErased' ? event.erased : 0);

async function erasedAt(store: Store, position: number): Promise<number> {
  for await (const [event] of store.read(position - 1, { to: position }))
    if (event !== undefined) return eventsErased(event);
  return 0;
}

const progressOf = (
  step: { readonly step: FinishStep; readonly done?: number },
  erasure: Unfinished,
): EraseProgress => ({
  ...step,
  ...(step.done !== undefined && { total: eventsErased(erasure) }),
});
