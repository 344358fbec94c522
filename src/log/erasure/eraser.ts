import type { Command } from '../../domain/decider.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { monotonic, random, randomUUID, wallTime } from '../../time/host.ts';
import { pause } from '../../time/pause.ts';
import { seal } from '../event/chain.ts';
import { type Committed, type LoggedEvent, plantEventOf } from '../event/event.ts';
import type { Store } from '../store.ts';
import type { Follower } from '../tail/follower.ts';
import type { Tail } from '../tail/tail.ts';
import { unavailable } from '../unavailable.ts';
import type { Erasure } from './erasure.ts';

/** Whom to erase, and at whose request. */
export interface EraseRequest {
  readonly owner: string;
  readonly actor: string;
  readonly issuer?: string | undefined;
}

/** The progress of an erasure. */
export interface EraseProgress {
  /** Deleting plants, appending the event, waiting for the read model, removing contents, clearing removed data. */
  readonly step: 'plants' | 'event' | 'read_model' | 'contents' | 'clear';
  /** Number of the owner's plants or events that are done, where the step counts them. */
  readonly done?: number;
  readonly total?: number;
}

/** The result of an erasure. Without a position, the owner had no events and nothing was done. */
export interface Erased {
  /** Position of the OwnerErased event. */
  readonly position: number | undefined;
  /** Events that lost their content. */
  readonly events: number;
}

/** The parts that the eraser uses. */
export interface EraserParts {
  readonly store: Store;
  readonly tail: Tail;
  readonly follower: Follower;
  /** Submits a command, even for an owner who is being erased. */
  readonly submit: (command: Command) => Promise<Committed>;
}

/** Milliseconds of the lease to work on erasures. */
const LEASE = 10_000;
/** Milliseconds between two polls for the work of another instance. */
const LOOK = 50;
/** Most attempts to append the OwnerErased event while others write to the log. */
const ATTEMPTS = 2_000;
/** Longest pause after an attempt, in milliseconds. */
const PAUSE = 10;
/** Most rounds of deleting plants that the owner added meanwhile. */
const ROUNDS = 20;
/** Concurrent deletions. */
const DELETIONS = 200;
/** Milliseconds for the read model to reach the OwnerErased event. */
const PROJECTED = 60_000;

/** The owner's events up to a position: how many have content, and which plants remain. */
interface Counted {
  position: number;
  events: number;
  readonly plants: Set<bigint>;
  /** The OwnerErased event, if it was seen. */
  event: LoggedEvent | undefined;
}

/**
 * Erases owners: deletes their plants by ordinary events, appends OwnerErased, and removes the content of all their
 * earlier events. The work is first recorded in the store. The holder of a lease then does it. Each step is idempotent,
 * so another instance can continue after a crash at any point.
 */
export class Eraser {
  readonly #parts: EraserParts;
  readonly #holder = randomUUID();
  readonly #erasing = new Set<string>();
  /** Event ids of the erasures that this instance works on. */
  readonly #working = new Set<string>();
  #leasedUntil = 0;
  #pending: { readonly count: number; readonly since: number | undefined } = { count: 0, since: undefined };

  constructor(parts: EraserParts) {
    this.#parts = parts;
  }

  /** The erasures that the last look found unfinished, and when the oldest began. */
  get pending(): { readonly count: number; readonly since: number | undefined } {
    return this.#pending;
  }

  /** Why this command is refused while this instance erases its owner. Undefined: it is not refused. */
  refusal({ owner }: Command): PlantStoreError | undefined {
    return this.#erasing.has(owner)
      ? new PlantStoreError('OWNER_BEING_ERASED', 'the owner is being erased; try again when that has ended', {
          retryAfter: 10,
        })
      : undefined;
  }

  /**
   * Erases an owner. Yields progress, and the result last. A repeated call continues the erasure or does nothing.
   * Rejects with OWNER_KEEPS_WRITING when the owner keeps writing, with MayNotEraseError, and when the store cannot be
   * reached. An erasure that has begun then continues later.
   *
   * `isPublished`: true when the events are published nowhere.
   */
  async *erase({ owner, actor, issuer }: EraseRequest, isPublished: boolean): AsyncGenerator<EraseProgress | Erased> {
    const { store, follower, tail } = this.#parts;
    await follower.sync();
    const after = tail.head.position;
    const noted = (await store.erasures()).find((erasure) => erasure.owner === owner);
    if (noted === undefined && (await this.#countedByOwner(owner, after)).events === 0) {
      yield { position: undefined, events: 0 };
      return;
    }
    if (noted?.erasedBy !== undefined && !noted.isPublished)
      throw new PlantStoreError(
        'OWNER_BEING_ERASED',
        'an earlier erasure of this owner is not published yet; try again',
        {
          retryAfter: 10,
        },
      );
    const erasure = { owner, eventId: randomUUID(), actor, issuer, since: wallTime(), after, isPublished };
    if (noted === undefined) await store.beginErasure(erasure);
    const begun = (await store.erasures()).find((each) => each.owner === owner) ?? erasure;
    yield* this.#untilErased(begun);
  }

  /** Looks for the unfinished erasures of all instances. */
  async unfinished(): Promise<readonly Erasure[]> {
    const erasures = await this.#parts.store.erasures();
    this.#pending = { count: erasures.length, since: erasures[0]?.since };
    return erasures;
  }

  /** Completes unfinished erasures, unless another instance works on them. Yields progress. */
  async *finish(erasures: readonly Erasure[]): AsyncGenerator<EraseProgress> {
    for (const erasure of erasures)
      if (!this.#working.has(erasure.eventId) && (await this.#leased()))
        for await (const step of this.#run(erasure)) if ('step' in step) yield step;
  }

  /** Gives back the lease. */
  async close(): Promise<void> {
    if (this.#leasedUntil === 0) return;
    this.#leasedUntil = 0;
    await this.#parts.store.lease('erasure', this.#holder, 0).catch(() => {});
  }

  async *#untilErased(erasure: Erasure): AsyncGenerator<EraseProgress | Erased> {
    while (this.#working.has(erasure.eventId) || !(await this.#leased())) {
      yield { step: 'contents' };
      await pause(LOOK);
      const now = (await this.#parts.store.erasures()).find(({ eventId }) => eventId === erasure.eventId);
      if (now !== undefined && now.erasedBy === undefined) continue;
      // Another instance has completed or abandoned the erasure.
      const { event, events } = await this.#count(erasure);
      if (event === undefined && events > 0) throw keepsWriting();
      yield erasedBy(event);
      return;
    }
    yield* this.#run(erasure);
  }

  async *#run(erasure: Erasure): AsyncGenerator<EraseProgress | Erased> {
    const { owner, eventId } = erasure;
    this.#working.add(eventId);
    this.#erasing.add(owner);
    try {
      const event = yield* this.#appended(erasure);
      this.#erasing.delete(owner);
      if (event !== undefined) yield* this.#removed(erasure, event);
      else await this.#parts.store.endErasure(eventId);
      yield erasedBy(event);
    } finally {
      this.#erasing.delete(owner);
      this.#working.delete(eventId);
      if (this.#working.size === 0) await this.close();
    }
  }

  /**
   * Deletes the owner's plants and appends the event, unless that is done. Returns undefined when there is nothing to
   * erase.
   */
  async *#appended(erasure: Erasure): AsyncGenerator<EraseProgress, LoggedEvent | undefined> {
    const { store } = this.#parts;
    const counted = await this.#count(erasure);
    let isKeyRenewed = false;
    for (let attempt = 0, rounds = 0; ; attempt++) {
      if (counted.event !== undefined) return counted.event;
      if (counted.events === 0) return undefined;
      if (counted.plants.size > 0) {
        if (rounds++ === ROUNDS || attempt >= ATTEMPTS) throw await this.#givenUp(erasure);
        yield* this.#deletePlants(erasure, counted.plants);
      } else if (attempt >= ATTEMPTS) throw await this.#givenUp(erasure);
      else {
        yield { step: 'event' };
        await this.#leased();
        // Before the event, at which every instance reads the key again. Then no log says any more who this owner is.
        if (!isKeyRenewed) await store.ownerKey(true);
        isKeyRenewed = true;
        await this.#tryAppend(erasure, counted);
        // The log shows whether the event landed.
        if (attempt > 0) await pause(random() * PAUSE);
      }
      await this.#countOn(counted, erasure, (await store.head()).position);
    }
  }

  async #tryAppend({ eventId, actor, issuer }: Erasure, { position, events }: Counted): Promise<void> {
    const { store, follower, tail } = this.#parts;
    const head = await store.head();
    if (head.position !== position) return;
    const event = seal(head, { type: 'OwnerErased', actor, issuer, erased: events }, eventId, wallTime());
    // The tail has verified this head, so the log is still the one that this instance knows.
    await follower.sync();
    if (tail.head.position !== position) return;
    await store.append([event]);
  }

  async #givenUp({ eventId }: Erasure): Promise<PlantStoreError> {
    await this.#parts.store.endErasure(eventId);
    return keepsWriting();
  }

  async *#deletePlants(erasure: Erasure, plants: ReadonlySet<bigint>): AsyncGenerator<EraseProgress> {
    const { owner, actor, issuer } = erasure;
    const ids = [...plants];
    for (let from = 0; from < ids.length; from += DELETIONS) {
      yield { step: 'plants', done: from, total: ids.length };
      await this.#leased();
      const settled = await Promise.allSettled(
        ids
          .slice(from, from + DELETIONS)
          .map((id) => this.#parts.submit({ type: 'DeletePlant', owner, actor, issuer, id })),
      );
      for (const result of settled)
        if (result.status === 'rejected' && !isGone(result.reason)) throw unavailable(result.reason);
    }
  }

  /** Removes the contents of the events before the OwnerErased event, once the read model no longer needs them. */
  async *#removed(erasure: Erasure, { position, event }: LoggedEvent): AsyncGenerator<EraseProgress> {
    const { store } = this.#parts;
    const { owner, eventId } = erasure;
    if (erasure.erasedBy === undefined) {
      const total = event?.type === 'OwnerErased' ? event.erased : 0;
      const deadline = monotonic() + PROJECTED;
      while ((await store.checkpoint()) < position) {
        yield { step: 'read_model' };
        if (monotonic() > deadline) throw new Error('the read model does not reach the OwnerErased event');
        await this.#leased();
        await pause(LOOK);
      }
      for await (const done of store.eraseContents(owner, position)) {
        yield { step: 'contents', done, total };
        await this.#leased();
      }
      await this.#checkCount(position, total);
      yield { step: 'clear' };
      await store.contentsErased(eventId, position);
    }
    const now = (await store.erasures()).find((each) => each.eventId === eventId);
    if (now?.isPublished === true) await store.endErasure(eventId);
  }

  async #checkCount(by: number, total: number): Promise<void> {
    let count = 0;
    for await (const events of this.#parts.store.read(0, { to: by }))
      for (const { erasedBy } of events) if (erasedBy === by) count++;
    if (count !== total)
      throw new Error(`position ${by} says that it erased ${total} events, and ${count} lost their content`);
  }

  async #countedByOwner(owner: string, position: number): Promise<Counted> {
    const counted: Counted = { position, events: 0, plants: new Set(), event: undefined };
    for await (const events of this.#parts.store.read(0, { to: position, owner }))
      for (const event of events) add(counted, event);
    return counted;
  }

  /** The owner's events and plants at the log's end now, and the OwnerErased event if it is there. */
  async #count(erasure: Erasure): Promise<Counted> {
    const counted = await this.#countedByOwner(erasure.owner, erasure.after);
    await this.#countOn(counted, erasure, (await this.#parts.store.head()).position);
    return counted;
  }

  async #countOn(counted: Counted, { owner, eventId }: Erasure, to: number): Promise<void> {
    if (to <= counted.position) return;
    for await (const events of this.#parts.store.read(counted.position, { to }))
      for (const event of events) {
        if (event.position > to) break;
        if (event.eventId === eventId) counted.event = event;
        if (counted.event === undefined && plantEventOf(event)?.owner === owner) add(counted, event);
      }
    counted.position = to;
  }

  /** Takes or renews the lease to work on erasures. */
  async #leased(): Promise<boolean> {
    const now = monotonic();
    if (now < this.#leasedUntil - LEASE / 2) return true;
    const leased = await this.#parts.store.lease('erasure', this.#holder, LEASE);
    this.#leasedUntil = leased ? now + LEASE : 0;
    return leased;
  }
}

const keepsWriting = () =>
  new PlantStoreError(
    'OWNER_KEEPS_WRITING',
    'not erased: the owner goes on writing; see that they cannot, and try again',
  );

function add(counted: Counted, logged: LoggedEvent): void {
  const event = plantEventOf(logged);
  if (event === undefined) return;
  counted.events++;
  if (event.type === 'PlantAdded') counted.plants.add(event.plantId);
  else counted.plants.delete(event.plantId);
}

const erasedBy = (logged: LoggedEvent | undefined): Erased => ({
  position: logged?.position,
  events: logged?.event?.type === 'OwnerErased' ? logged.event.erased : 0,
});

/** Whether the command failed because the plant is already deleted. */
const isGone = (error: unknown): boolean => error instanceof PlantStoreError && error.reason === 'PLANT_NOT_FOUND';
