import { idempotencyString } from '../../../src/domain/idempotency.ts';
import { keyString, type Plant, plantFields } from '../../../src/domain/plant.ts';
import { headAt, leafHash, verifyContent, verifyNext } from '../../../src/log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent, plantEventOf } from '../../../src/log/event/event.ts';
import type { Checkpoint } from '../../../src/tlog/checkpoint.ts';
import { Frontier } from '../../../src/tlog/tree.ts';
import type { State } from '../store/state.ts';
import { Violation } from './violation.ts';

/** The plants of an owner by id. */
export type Plants = ReadonlyMap<bigint, Plant>;

/**
 * The log as a majority has it, with every content that ever was in it. It sees each state of the database, and judges
 * each event as it comes: it follows its predecessor, and the state before it allows it.
 */
export class Truth {
  readonly events: LoggedEvent[] = [];
  /** The owner of each OwnerErased event, by its id. */
  readonly erasedOwners = new Map<string, string>();
  /** Whether events may have been decided on wrong rows. */
  isMisled = false;
  #head: Head = EMPTY_HEAD;
  #seen: readonly LoggedEvent[] = [];
  readonly #there = new Set<string>();
  readonly #ids = new Set<string>();
  readonly #named = new Map<string, LoggedEvent>();
  /** Who has erased an owner. Each does so once. */
  readonly #erasers = new Set<string>();
  /** The log before each restore. */
  readonly earlier: (readonly LoggedEvent[])[] = [];
  readonly #ofOwners = new Map<string, LoggedEvent[]>();

  /** The position of the last event that a majority has. */
  get end(): number {
    return this.#head.position;
  }

  /** A backup was restored: the log ends earlier. */
  restore({ events }: State): void {
    const kept = this.events.slice(0, events.length);
    this.earlier.push([...this.events]);
    this.events.length = 0;
    for (const memory of [this.#there, this.#ids, this.#named, this.#erasers, this.#ofOwners]) memory.clear();
    this.#head = EMPTY_HEAD;
    for (const event of kept) this.#append(event);
    this.#seen = events;
  }

  /** Takes the next state that a majority has. Throws Violation. */
  take({ events }: State): void {
    if (events === this.#seen) return;
    const known = this.#seen;
    this.#seen = events;
    for (const [index, event] of events.entries()) {
      if (index >= known.length) this.#append(event);
      else if (event !== known[index]) this.#checkErased(this.events[index]!, event);
    }
    if (events.length < known.length)
      throw new Violation('order', `the log ends at ${events.length}, before ${this.end}`);
  }

  /** The checkpoint of the log as it is now. */
  checkpoint(): Checkpoint {
    const tree = new Frontier();
    for (const event of this.events) tree.add(leafHash(event));
    return { origin: 'simulation', size: tree.size, root: tree.root };
  }

  /** The events of an owner, with their contents, up to a position. */
  *of(owner: string, to = this.end): Generator<LoggedEvent> {
    for (const event of this.#ofOwners.get(owner) ?? []) {
      if (event.position > to) return;
      yield event;
    }
  }

  /** An owner's plants at a position. */
  plantsAt(owner: string, position: number): Plants {
    const plants = new Map<bigint, Plant>();
    for (const logged of this.of(owner, position)) {
      const event = plantEventOf(logged);
      if (event === undefined) plants.clear();
      else if (event.type === 'PlantAdded') plants.set(event.plantId, plantFields(event));
      else plants.delete(event.plantId);
    }
    return plants;
  }

  /** Position of the owner's last OwnerErased event; 0: there is none. */
  erasedAt(owner: string, to = this.end): number {
    let last = 0;
    for (const { type, position } of this.of(owner, to)) if (type === 'OwnerErased') last = position;
    return last;
  }

  /** Whether an owner was erased after a position in a log before a restore. */
  wasErasedAfter(position: number, owner: string): boolean {
    const erases = ({ type, eventId }: LoggedEvent) =>
      type === 'OwnerErased' && this.erasedOwners.get(eventId) === owner;
    return this.earlier.some((log) => log.slice(position).some(erases));
  }

  #append(logged: LoggedEvent): void {
    const { position, eventId, type, event } = logged;
    this.#follows(logged);
    this.events.push(logged);
    if (this.#ids.has(eventId))
      throw new Violation('order', `the event ${eventId} is in the log twice, at ${position} too`);
    this.#ids.add(eventId);
    if (logged.erases !== undefined) this.erasedOwners.set(eventId, logged.erases.owner);
    const owner = type === 'OwnerErased' ? this.erasedOwners.get(eventId) : plantEventOf(logged)?.owner;
    if (owner === undefined) throw new Violation('content', `position ${position} has no content, and is new`);
    const known = this.#ofOwners.get(owner);
    if (event?.type === 'OwnerErased') this.#checkCount(logged, event.erased, known ?? []);
    if (known === undefined) this.#ofOwners.set(owner, [logged]);
    else known.push(logged);
    if (this.#erasers.has(event!.actor))
      throw new Violation('second life', `position ${position}: ${event!.actor} goes on after its erasure`, owner);
    if (type === 'OwnerErased') this.#erase(owner, event!.actor);
    else this.#decided(logged, owner);
  }

  #checkCount({ position }: LoggedEvent, erased: number, events: readonly LoggedEvent[]): void {
    const count = events.length - 1 - events.findLastIndex(({ type }) => type === 'OwnerErased');
    if (count !== erased)
      throw new Violation(
        'content',
        `position ${position} says that it erases ${erased} events, and there are ${count}`,
      );
  }

  #follows(logged: LoggedEvent): void {
    try {
      verifyNext(this.#head, logged);
      verifyContent(logged);
    } catch (error) {
      throw new Violation('order', (error as Error).message);
    }
    this.#head = headAt(logged);
  }

  #erase(owner: string, actor: string): void {
    this.#erasers.add(actor);
    for (const key of [...this.#there]) if (key.endsWith(`:${owner}`)) this.#there.delete(key);
    for (const [name, { event }] of this.#named)
      if (event !== undefined && 'owner' in event && event.owner === owner) this.#named.delete(name);
  }

  #decided(logged: LoggedEvent, owner: string): void {
    const event = plantEventOf(logged)!;
    const key = keyString(owner, event.plantId);
    const wrong = (why: string) => new Violation('decision', `position ${logged.position}: plant ${key} ${why}`, owner);
    if (event.type === 'PlantAdded') {
      if (this.#there.has(key) && !this.isMisled) throw wrong('is added, and is there');
      this.#there.add(key);
    } else if (!this.#there.delete(key) && !this.isMisled) throw wrong('is deleted, and is not there');
    const name = idempotencyString(event);
    if (name === undefined) return;
    const earlier = this.#named.get(name);
    if (earlier !== undefined) throw wrong(`repeats the key of the event at ${earlier.position}`);
    this.#named.set(name, logged);
  }

  /** An event changes only by losing its content, when its owner was erased after it. */
  #checkErased(before: LoggedEvent, after: LoggedEvent): void {
    const { position, event, erasedBy = 0, type } = after;
    if (type === 'OwnerErased' && event !== undefined && Buffer.compare(before.hash, after.hash) === 0) return;
    const owner = plantEventOf(before)?.owner;
    const by = this.events[erasedBy - 1];
    const isRight = event === undefined && erasedBy > position && by?.type === 'OwnerErased';
    if (!isRight || this.erasedOwners.get(by.eventId) !== owner || Buffer.compare(before.hash, after.hash) !== 0)
      throw new Violation('content', `the event at ${position} was changed, and not by an erasure of ${owner}`, owner);
  }
}
