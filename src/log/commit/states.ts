import { plantIdOf } from '../../domain/decider.ts';
import { idempotencyString } from '../../domain/idempotency.ts';
import type { PlantKey } from '../../domain/plant.ts';
import { type LoggedEvent, plantEventOf } from '../event/event.ts';
import type { Follower } from '../tail/follower.ts';
import { KnownKeys } from './known-keys.ts';
import type { Keyed, Known } from './plan.ts';

/**
 * Reads the state that commands are decided on. Rows stay valid although the projector moves during the read. The tail
 * is pinned before the read: every key that an event touches from then on is in the tail, and any other row is the same
 * at all times.
 */
export class StateReader {
  readonly #follower: Follower;
  readonly #knownKeys: KnownKeys;

  /** `owners`: most owners whose plant ids are known without a read. */
  constructor(follower: Follower, owners: number) {
    this.#follower = follower;
    this.#knownKeys = new KnownKeys(follower, owners);
  }

  /**
   * Reads what memory does not hold for these commands, and decides on the state at the tail's head: a step without any
   * wait. Rejects when the store cannot be reached.
   */
  decide<Decided>(commands: readonly Keyed[], decide: (known: Known) => Decided): Promise<Decided> {
    return this.#follower.tail.pinned(
      (base) => this.#read(commands, base),
      ([rows, events]) => decide(this.#stateOf(rows, events)),
    );
  }

  async #read(commands: readonly Keyed[], base: number) {
    const plants = commands.flatMap(plantOf);
    const read = await Promise.all([this.#rowsOf(plants, base), this.#eventsOf(commands)]);
    // After the reads, however long they took: what is known of rows counts if they were not repaired meanwhile.
    await this.#follower.lookAtRows();
    return read;
  }

  #stateOf(rows: ReadonlyMap<string, Row>, events: ReadonlyMap<string, LoggedEvent>): Known {
    const { tail } = this.#follower;
    return {
      isThere(key) {
        const row = rows.get(key)!;
        return tail.knows(row) ? tail.stateOf(row) !== undefined : row.isThere;
      },
      eventOf: (idempotency, owner) =>
        tail.findByIdempotencyKey(idempotency) ?? (tail.hasEnded(owner) ? undefined : events.get(idempotency)),
      since: (owner, position) => tail.since(owner, position),
    };
  }

  /** Resolves when nothing reads from the store any more. */
  close(): Promise<void> {
    return this.#knownKeys.close();
  }

  /** Whether the read model has the plant of each key. Keys in the tail are not read. */
  async #rowsOf(plants: readonly Keyable[], base: number): Promise<Map<string, Row>> {
    const rows = new Map<string, Row>();
    const missing: Keyable[] = [];
    for (const { key, plant } of plants) {
      const known = this.#knownKeys.isThere(plant.owner, plant.id);
      rows.set(key, { ...plant, isThere: known === true });
      if (known === undefined && !this.#follower.tail.knows(plant)) missing.push({ key, plant });
    }
    if (missing.length === 0) return rows;
    this.#knownKeys.lookedUp(new Set(missing.map(({ plant }) => plant.owner)));
    const { rows: found, ...standing } = await this.#follower.store.get(missing.map(({ plant }) => plant));
    await this.#follower.reachCheckpoint(standing, base);
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
