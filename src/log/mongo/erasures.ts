import { type Db, type Document, Long } from 'mongodb';
import { MayNotEraseError, type Unfinished } from '../store.ts';
import { type Collections, collectionsOf } from './collections.ts';
import type { CausalClock } from './connection/causal-clock.ts';
import { COMMAND_LIMIT } from './connection/client.ts';
import { CODE, hasCode } from './connection/errors.ts';
import { toLoggedEvent, WITHOUT_KEYS } from './documents.ts';

/** Positions of one update, so that no update takes long. */
const STEP = 5_000;

const REMOVED = { content: '', owner: '', plantId: '', idempotencyKey: '' } as const;

/** Selects the OwnerErased events whose erasure is not complete. */
export const UNFINISHED = { 'erases.owner': { $exists: true } } as const;

/** Erasures in MongoDB. Every step is a separate update with a majority write. A repeated step does the rest. */
export class MongoErasures {
  readonly #events: Collections['events'];
  readonly #clock: CausalClock;

  constructor(db: Db, clock: CausalClock) {
    this.#events = collectionsOf(db).events;
    this.#clock = clock;
  }

  /** See Store.unfinished. */
  async unfinished(): Promise<readonly Unfinished[]> {
    const found = await this.#clock.run((session) =>
      this.#events
        .find(UNFINISHED, { session, projection: WITHOUT_KEYS, maxTimeMS: COMMAND_LIMIT })
        .sort({ _id: 1 })
        .toArray(),
    );
    return found.map(toLoggedEvent) as Unfinished[];
  }

  /** See Store.mayErase. An update needs the right even if no event matches. */
  async mayErase(): Promise<void> {
    try {
      await this.#update([-1], { $unset: { content: '' } });
    } catch (error) {
      throw hasCode(error, CODE.unauthorized) ? new MayNotEraseError({ cause: error }) : error;
    }
  }

  /** See Store.eraseContents. */
  async *eraseContents(owner: string, by: number): AsyncGenerator<number> {
    let taken = 0;
    for (let after = 0; after < by - 1; after += STEP) {
      const to = Math.min(after + STEP, by - 1);
      const positions = { $gt: Long.fromNumber(after), $lte: Long.fromNumber(to) };
      const { modifiedCount } = await this.#clock.run((session) =>
        this.#events.updateMany(
          { _id: positions, owner },
          { $set: { erasedBy: Long.fromNumber(by) }, $unset: REMOVED },
          { session, maxTimeMS: COMMAND_LIMIT },
        ),
      );
      taken += modifiedCount;
      yield taken;
    }
  }

  /** See Store.clearErased. MongoDB's other copies, such as the oplog, expire with age. */
  async *clear(positions: readonly number[]): AsyncGenerator<void> {
    yield await this.#update(positions, { $set: { 'erases.isCleared': true } });
  }

  /** See Store.erasurePublished. */
  published(position: number): Promise<void> {
    return this.#update([position], { $set: { 'erases.isPublished': true } });
  }

  /** See Store.endErasures. */
  end(positions: readonly number[]): Promise<void> {
    return this.#update(positions, { $unset: { erases: '' } });
  }

  /** Updates the OwnerErased events at these positions whose erasures are not complete. */
  async #update(positions: readonly number[], update: Document): Promise<void> {
    const _id = { $in: positions.map((position) => Long.fromNumber(position)) };
    await this.#clock.run((session) => this.#events.updateMany({ _id, ...UNFINISHED }, update, { session }));
  }
}
