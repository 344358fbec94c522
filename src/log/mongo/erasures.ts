import { type Document, Long } from 'mongodb';
import { MayNotEraseError, type Store, type Unfinished } from '../store.ts';
import type { Collections } from './collections.ts';
import type { CausalClock } from './connection/causal-clock.ts';
import { COMMAND_LIMIT } from './connection/client.ts';
import { CODE, hasCode } from './connection/errors.ts';
import { toLoggedEvent, WITHOUT_KEYS } from './documents.ts';

/** Positions of one update, so that no update takes long: some 40 ms if all are of the owner. */
const STEP = 1_000;

const REMOVED = { content: '', owner: '', plantId: '', idempotencyKey: '' } as const;

/** Selects the OwnerErased events whose erasure is not complete. */
export const UNFINISHED = { 'erases.owner': { $exists: true } } as const;

/** Erasures in MongoDB. Every step is a separate update with a majority write. A repeated step does the rest. */
export class MongoErasures {
  readonly #events: Collections['events'];
  readonly #clock: CausalClock;

  constructor({ events }: Collections, clock: CausalClock) {
    this.#events = events;
    this.#clock = clock;
  }

  readonly unfinished: Store['unfinished'] = async () => {
    const found = await this.#clock.run((session) =>
      this.#events
        .find(UNFINISHED, { session, projection: WITHOUT_KEYS, maxTimeMS: COMMAND_LIMIT })
        .sort({ _id: 1 })
        .toArray(),
    );
    return found.map(toLoggedEvent) as Unfinished[];
  };

  /** An update needs the right even if no event matches. */
  readonly mayErase: Store['mayErase'] = async () => {
    try {
      await this.#update([-1], { $unset: { content: '' } });
    } catch (error) {
      throw hasCode(error, CODE.unauthorized) ? new MayNotEraseError({ cause: error }) : error;
    }
  };

  readonly eraseContents: Store['eraseContents'] = (owner, by) => this.#erase(owner, by);

  async *#erase(owner: string, by: number): AsyncGenerator<number> {
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

  /** MongoDB's other copies, such as the oplog, expire with age. */
  readonly clearErased: Store['clearErased'] = (positions) => this.#clear(positions);

  async *#clear(positions: readonly number[]): AsyncGenerator<void> {
    yield await this.#update(positions, { $set: { 'erases.isCleared': true } });
  }

  readonly erasurePublished: Store['erasurePublished'] = (position, isPublished) =>
    this.#update([position], { $set: { 'erases.isPublished': isPublished } });

  readonly endErasures: Store['endErasures'] = (positions, mustBePublished) =>
    this.#update(positions, { $unset: { erases: '' } }, mustBePublished ? { 'erases.isPublished': true } : {});

  readonly cleared: Store['cleared'] = async () => {};

  /** Updates the OwnerErased events at these positions whose erasures are not complete, or those of them that are such. */
  async #update(positions: readonly number[], update: Document, such: Document = {}): Promise<void> {
    const _id = { $in: positions.map((position) => Long.fromNumber(position)) };
    await this.#clock.run((session) => this.#events.updateMany({ _id, ...UNFINISHED, ...such }, update, { session }));
  }
}
