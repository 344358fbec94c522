import { plantIdOf } from '../../domain/decider.ts';
import { idempotencyString } from '../../domain/idempotency.ts';
import type { PlantKey } from '../../domain/plant.ts';
import { type LoggedEvent, plantEventOf } from '../event/event.ts';
import type { Follower } from '../tail/follower.ts';
import { type Pin, untilCurrent } from '../tail/tail.ts';
import { KnownKeys } from './known-keys.ts';
import type { Keyed, Known } from './plan.ts';

/** The state that some commands are decided on, always at the tail's current head. Pins the tail until released. */
export interface States extends Known {
  /** Whether the key is that of a plant of one of the commands. */
  has(key: string): boolean;
  /** Whether the rows still count, and the tail goes on from them. */
  readonly isCurrent: boolean;
  release(): void;
}

/**
 * Loads the state that commands are decided on. Rows stay valid although the projector moves during the read. The tail
 * is pinned before the read: every key that an event touches from then on is in the tail, and any other row is the same
 * at all times.
 */
export class StateReader {
  readonly #follower: Follower;
  readonly #known: KnownKeys;

  /** `owners`: most owners whose plant ids are known without a read. */
  constructor(follower: Follower, owners: number) {
    this.#follower = follower;
    this.#known = new KnownKeys(follower, owners);
  }

  /** Reads what memory does not hold for these commands. Rejects when the store cannot be reached. */
  load(commands: readonly Keyed[]): Promise<States> {
    return untilCurrent(() => this.#load(commands));
  }

  /**
   * Whether commands may be decided on states that were loaded a while ago. Asks the store for the generation of its rows
   * if that was not done just now. Rejects when the store cannot be reached.
   */
  async areCurrent(loads: readonly States[]): Promise<boolean> {
    await this.#follower.lookAtRows();
    return loads.every(({ isCurrent }) => isCurrent);
  }

  async #load(commands: readonly Keyed[]): Promise<States> {
    await this.#follower.lookAtRows();
    const pin = this.#follower.tail.pin();
    try {
      const plants = commands.flatMap(plantOf);
      const [rows, events] = await Promise.all([this.#rowsOf(plants, pin), this.#eventsOf(commands)]);
      pin.check();
      const { tail } = this.#follower;
      return {
        has: (key) => rows.has(key),
        isThere(key) {
          const row = rows.get(key)!;
          return tail.knows(row) ? tail.stateOf(row) !== undefined : row.isThere;
        },
        eventOf: (idempotency, owner) =>
          tail.findByIdempotencyKey(idempotency) ?? (tail.hasEnded(owner) ? undefined : events.get(idempotency)),
        since: (owner, position) => tail.since(owner, position),
        get isCurrent() {
          return pin.isCurrent;
        },
        release: pin.release,
      };
    } catch (error) {
      pin.release();
      throw error;
    }
  }

  /** Resolves when nothing reads from the store any more. */
  close(): Promise<void> {
    return this.#known.close();
  }

  /** Whether the read model has the plant of each key. Keys in the tail are not read. */
  async #rowsOf(plants: readonly Keyable[], pin: Pin): Promise<Map<string, Row>> {
    const rows = new Map<string, Row>();
    const missing: Keyable[] = [];
    for (const { key, plant } of plants) {
      const known = this.#known.isThere(plant.owner, plant.id);
      rows.set(key, { ...plant, isThere: known === true });
      if (known === undefined && !this.#follower.tail.knows(plant)) missing.push({ key, plant });
    }
    if (missing.length === 0) return rows;
    this.#known.lookedUp(new Set(missing.map(({ plant }) => plant.owner)));
    const { rows: found, ...standing } = await this.#follower.store.get(missing.map(({ plant }) => plant));
    await this.#follower.reachCheckpoint(standing, pin.base);
    missing.forEach(({ key, plant }, index) => {
      rows.set(key, { ...plant, isThere: found[index] !== undefined });
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
      idempotencyKey === undefined || this.#follower.tail.findByIdempotencyKey(idempotency!) !== undefined
        ? []
        : [{ owner, idempotencyKey }],
    );
    if (missing.length === 0) return events;
    for (const event of await this.#follower.store.findByIdempotencyKeys(missing))
      if (event !== undefined) events.set(idempotencyString(plantEventOf(event)!)!, event);
    return events;
  }
}

/** A plant with its keyString. */
interface Keyable {
  readonly key: string;
  readonly plant: PlantKey;
}

/** Whether the read model has a plant. */
interface Row extends PlantKey {
  readonly isThere: boolean;
}

const plantOf = ({ command, key }: Keyed): Keyable[] =>
  command.type === 'EraseOwner' ? [] : [{ key, plant: { owner: command.owner, id: plantIdOf(command) } }];

/**
 * Combines several loads. The first load with a plant's key answers for the plant. The first load with the event of an
 * idempotency key answers for that key.
 */
export const combined = (loads: readonly States[]): Known => ({
  isThere: (key) => loads.find((states) => states.has(key))!.isThere(key),
  since: (owner, position) => loads[0]!.since(owner, position),
  eventOf(idempotency, owner) {
    for (const states of loads) {
      const event = states.eventOf(idempotency, owner);
      if (event !== undefined) return event;
    }
    return undefined;
  },
});
