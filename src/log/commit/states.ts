import { type PlantCommand, plantIdOf } from '../../domain/decider.ts';
import { type IdempotencyKey, idempotencyString } from '../../domain/idempotency.ts';
import type { PlantKey } from '../../domain/plant.ts';
import { type LoggedEvent, plantEventOf } from '../event/event.ts';
import type { Follower } from '../tail/follower.ts';
import type { KnownPlants } from './known-plants.ts';
import type { Known, Submitted } from './plan.ts';

/**
 * Reads the state that commands are decided on, although the projector moves meanwhile. The tail is pinned before the
 * read: every key that an event touches from then on is in the tail, and any other row stays the same.
 */
export class StateReader {
  readonly #follower: Follower;
  readonly #knownPlants: KnownPlants;

  constructor(follower: Follower, knownPlants: KnownPlants) {
    this.#follower = follower;
    this.#knownPlants = knownPlants;
  }

  /** Reads what memory lacks for these commands, and decides at the tail's head in a step without any wait. */
  decide<Decided>(submitted: readonly Submitted[], decide: (known: Known) => Decided): Promise<Decided> {
    const commands = submitted.map(({ command }) => command).filter((command) => command.type !== 'EraseOwner');
    return this.#follower.tail.pinned(
      (base) => this.#read(commands, base),
      ([rows, events]) => decide(this.#stateOf(rows, events)),
    );
  }

  async #read(commands: readonly PlantCommand[], base: number) {
    const read = await Promise.all([this.#rowsOf(commands, base), this.#eventsOf(commands)]);
    // After the reads, however long they took: what is known of rows counts if they were not repaired meanwhile.
    await this.#follower.revalidateRows();
    return read;
  }

  #stateOf(rows: ReadonlyMap<PlantCommand, boolean>, events: ReadonlyMap<string, LoggedEvent>): Known {
    const { tail } = this.#follower;
    const { memtable } = tail;
    return {
      isThere(command) {
        const plant = plantOf(command);
        return memtable.knows(plant) ? memtable.stateOf(plant) !== undefined : rows.get(command)!;
      },
      eventOf(command) {
        const key = idempotencyString(command)!;
        return memtable.findByIdempotencyKey(key) ?? (memtable.hasEnded(command.owner) ? undefined : events.get(key));
      },
      countSince: (owner, position) => tail.countSince(owner, position),
    };
  }

  /** Whether the read model has the plant of each command. What is in the tail is not read. */
  async #rowsOf(commands: readonly PlantCommand[], base: number): Promise<Map<PlantCommand, boolean>> {
    const rows = new Map<PlantCommand, boolean>();
    const missing: PlantCommand[] = [];
    for (const command of commands) {
      const plant = plantOf(command);
      const known = this.#knownPlants.isThere(plant.owner, plant.id);
      rows.set(command, known === true);
      if (known === undefined && !this.#follower.tail.memtable.knows(plant)) missing.push(command);
    }
    if (missing.length === 0) return rows;
    this.#knownPlants.lookedUp(new Set(missing.map(({ owner }) => owner)));
    const read = await this.#follower.store.get(missing.map(plantOf));
    const { rows: found } = await this.#follower.reachCheckpoint(read, base);
    for (const [index, command] of missing.entries()) rows.set(command, found[index] !== undefined);
    return rows;
  }

  /** Events of idempotency keys that are not in the tail: the log had them when the tail was pinned. */
  async #eventsOf(commands: readonly PlantCommand[]): Promise<Map<string, LoggedEvent>> {
    const events = new Map<string, LoggedEvent>();
    const missing: IdempotencyKey[] = [];
    for (const { owner, idempotencyKey } of commands) {
      if (idempotencyKey === undefined) continue;
      const key = { owner, idempotencyKey };
      if (this.#follower.tail.memtable.findByIdempotencyKey(idempotencyString(key)!) === undefined) missing.push(key);
    }
    if (missing.length === 0) return events;
    for (const event of await this.#follower.store.findByIdempotencyKeys(missing))
      if (event !== undefined) events.set(idempotencyString(plantEventOf(event)!)!, event);
    return events;
  }
}

const plantOf = (command: PlantCommand): PlantKey => ({ owner: command.owner, id: plantIdOf(command) });
