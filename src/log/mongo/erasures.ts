import { type Document, Long } from 'mongodb';
import type { Store, Unfinished } from '../store.ts';
import type { Collections } from './collections.ts';
import type { CausalClock } from './connection/causal-clock.ts';
import { COMMAND_LIMIT } from './connection/client.ts';
import { toEvents, WITHOUT_KEYS } from './documents.ts';

/** Positions of one update, so that no update takes long: some 40 ms if all are of the owner. */
const STEP = 1_000;

const REMOVED = { content: '', owner: '', plantId: '', idempotencyKey: '' } as const;

/** Selects the OwnerErased events whose erasure is not complete. */
export const UNFINISHED = { 'erases.owner': { $exists: true } } as const;

/** Erasures in MongoDB. Every step is a separate update with a majority write. A repeated step does the rest. */
export function mongoErasures({ events }: Collections, clock: CausalClock) {
  /**
   * Updates the OwnerErased events at these positions whose erasures are not complete, or those of them that are such.
   */
  async function update(positions: readonly number[], changes: Document, such: Document = {}): Promise<void> {
    const _id = { $in: positions.map((position) => Long.fromNumber(position)) };
    await clock.run((session) => events.updateMany({ _id, ...UNFINISHED, ...such }, changes, { session }));
  }

  return {
    async unfinished() {
      const options = { projection: WITHOUT_KEYS, maxTimeMS: COMMAND_LIMIT };
      const found = await clock.run((session) =>
        events
          .find(UNFINISHED, { ...options, session })
          .sort({ _id: 1 })
          .toArray(),
      );
      return toEvents(found) as Unfinished[];
    },

    async *eraseContents(owner, by) {
      let taken = 0;
      for (let after = 0; after < by - 1; after += STEP) {
        const to = Math.min(after + STEP, by - 1);
        const positions = { $gt: Long.fromNumber(after), $lte: Long.fromNumber(to) };
        const { modifiedCount } = await clock.run((session) =>
          events.updateMany(
            { _id: positions, owner },
            { $set: { erasedBy: Long.fromNumber(by) }, $unset: REMOVED },
            { session, maxTimeMS: COMMAND_LIMIT },
          ),
        );
        taken += modifiedCount;
        yield taken;
      }
    },

    /** MongoDB's other copies, such as the oplog, expire with age. */
    async *clearErased(positions) {
      yield await update(positions, { $set: { 'erases.isCleared': true } });
    },

    erasurePublished: (position, isPublished) => update([position], { $set: { 'erases.isPublished': isPublished } }),

    endErasures: (positions, mustBePublished) =>
      update(positions, { $unset: { erases: '' } }, mustBePublished ? { 'erases.isPublished': true } : {}),

    async cleared() {},
  } satisfies Partial<Store>;
}
