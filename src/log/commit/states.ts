import { plantIdOf } from '../../domain/decider.ts';
import { idempotencyString } from '../../domain/idempotency.ts';
import { type LoggedEvent, plantEventOf } from '../event/event.ts';
import type { Store } from '../store.ts';
import type { Follower } from '../tail/follower.ts';
import type { Pin, Tail } from '../tail/tail.ts';
import { unavailable } from '../unavailable.ts';
import type { Generation } from '../view/generation.ts';
import { KnownKeys } from './known-keys.ts';
import type { Keyed, Known } from './plan.ts';

/** The state that some commands are decided on, always at the tail's current head. Pins the tail until released. */
export interface States extends Known {
  /** Whether the key is that of a plant of one of the commands. */
  has(key: string): boolean;
  release(): void;
}

/**
 * Loads the state that commands are decided on. Rows stay valid although the projector moves during the read. The tail
 * is pinned before the read: every key that an event touches from then on is in the tail, and any other row is the same
 * at all times.
 */
export class StateReader {
  readonly #store: Store;
  readonly #tail: Tail;
  readonly #follower: Follower;
  readonly #generation: Generation;
  readonly #known: KnownKeys;

  /** `owners`: most owners whose plant ids are known without a read. */
  constructor(store: Store, tail: Tail, follower: Follower, generation: Generation, owners: number) {
    this.#store = store;
    this.#tail = tail;
    this.#follower = follower;
    this.#generation = generation;
    this.#known = new KnownKeys(store, tail, follower, generation, owners);
  }

  /**
   * Reads what memory does not hold for these commands. Rejects with STORE_UNAVAILABLE when the store cannot be
   * reached.
   */
  async load(commands: readonly Keyed[]): Promise<States> {
    const pin = this.#tail.pin();
    try {
      await this.#generation.look();
      const [rows, events] = await Promise.all([this.#rowsOf(commands, pin), this.#eventsOf(commands)]);
      const isThere = (key: string): boolean => {
        const entry = this.#tail.get(key);
        return entry === undefined ? rows.get(key) === true : entry.state !== undefined;
      };
      const eventOf = (idempotency: string) => this.#tail.findByIdempotencyKey(idempotency) ?? events.get(idempotency);
      return { has: (key) => rows.has(key), isThere, eventOf, release: pin.release };
    } catch (error) {
      pin.release();
      throw unavailable(error);
    }
  }

  /** Resolves when nothing reads from the store any more. */
  close(): Promise<void> {
    return this.#known.close();
  }

  /** Whether the read model has the plant of each key. Keys in the tail are not read. */
  async #rowsOf(commands: readonly Keyed[], pin: Pin): Promise<Map<string, boolean>> {
    const rows = new Map<string, boolean>();
    const missing: Keyed[] = [];
    for (const keyed of commands) {
      const { command, key } = keyed;
      const known = this.#known.isThere(command.owner, plantIdOf(command));
      rows.set(key, known === true);
      if (known === undefined && this.#tail.get(key) === undefined) missing.push(keyed);
    }
    if (missing.length === 0) return rows;
    this.#known.lookedUp(new Set(missing.map(({ command }) => command.owner)));
    const read = await this.#store.get(
      missing.map(({ command }) => ({ owner: command.owner, id: plantIdOf(command) })),
    );
    this.#generation.heard(read.generation);
    await this.#follower.reachCheckpoint(read.checkpoint, pin.base);
    missing.forEach(({ key }, index) => {
      rows.set(key, read.rows[index] !== undefined);
    });
    return rows;
  }

  /**
   * Events of idempotency keys that are not in the tail. These events were in the log when the tail was pinned, so a
   * later read finds them.
   */
  async #eventsOf(commands: readonly Keyed[]): Promise<Map<string, LoggedEvent>> {
    const events = new Map<string, LoggedEvent>();
    const missing = commands.flatMap(({ command: { owner, idempotencyKey }, idempotency }) =>
      idempotencyKey === undefined || this.#tail.findByIdempotencyKey(idempotency!) !== undefined
        ? []
        : [{ owner, idempotencyKey }],
    );
    if (missing.length === 0) return events;
    for (const event of await this.#store.findByIdempotencyKeys(missing))
      if (event !== undefined) events.set(idempotencyString(plantEventOf(event)!)!, event);
    return events;
  }
}

/**
 * Combines several loads. The first load with a plant's key answers for the plant. The first load with the event of an
 * idempotency key answers for that key.
 */
export const combined = (loads: readonly States[]): Known => ({
  isThere: (key) => loads.find((states) => states.has(key))!.isThere(key),
  eventOf(idempotency) {
    for (const states of loads) {
      const event = states.eventOf(idempotency);
      if (event !== undefined) return event;
    }
    return undefined;
  },
});
