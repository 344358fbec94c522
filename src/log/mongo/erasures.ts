import { type Db, Long } from 'mongodb';
import { type Erasure, MayNotEraseError } from '../erasure/erasure.ts';
import { type Collections, collectionsOf, type ErasureDocument } from './collections.ts';
import type { CausalClock } from './connection/causal-clock.ts';
import { COMMAND_LIMIT } from './connection/client.ts';
import { CODE, hasCode, ignoring } from './connection/errors.ts';

/** Positions of one update, so that no update takes long. */
const STEP = 5_000;

const REMOVED = { content: '', owner: '', plantId: '', idempotencyKey: '' } as const;

/** Erasures in MongoDB. Every step is a separate update with a majority write. A repeated step does the rest. */
export class MongoErasures {
  readonly #events: Collections['events'];
  readonly #erasures: Collections['erasures'];
  readonly #clock: CausalClock;

  constructor(db: Db, clock: CausalClock) {
    const { events, erasures } = collectionsOf(db);
    this.#events = events;
    this.#erasures = erasures;
    this.#clock = clock;
  }

  /** See Store.erasures. */
  async all(): Promise<readonly Erasure[]> {
    const found = await this.#clock.run((session) =>
      this.#erasures.find({}, { session, maxTimeMS: COMMAND_LIMIT }).sort({ since: 1, _id: 1 }).toArray(),
    );
    return found.map(toErasure);
  }

  /** See Store.beginErasure. */
  async begin({ owner, since, after, erasedBy: _, ...rest }: Erasure): Promise<void> {
    await this.#checkRight();
    const document: ErasureDocument = { _id: owner, ...rest, since: new Date(since), after: Long.fromNumber(after) };
    await ignoring(
      CODE.duplicateKey,
      this.#clock.run((session) => this.#erasures.insertOne(document, { session })),
    );
  }

  /** An update needs the permission even if no event matches. */
  async #checkRight(): Promise<void> {
    try {
      await this.#clock.run((session) =>
        this.#events.updateOne({ _id: Long.NEG_ONE }, { $unset: { content: '' } }, { session }),
      );
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

  /** See Store.contentsErased. MongoDB's other copies, such as the oplog, expire with age. */
  contentsErased(eventId: string, by: number): Promise<void> {
    return this.#note(eventId, { erasedBy: Long.fromNumber(by) });
  }

  /** See Store.erasurePublished. */
  published(eventId: string): Promise<void> {
    return this.#note(eventId, { isPublished: true });
  }

  /** See Store.endErasure. */
  async end(eventId: string): Promise<void> {
    await this.#clock.run((session) => this.#erasures.deleteOne({ eventId }, { session }));
  }

  async #note(eventId: string, what: Partial<ErasureDocument>): Promise<void> {
    await this.#clock.run((session) => this.#erasures.updateOne({ eventId }, { $set: what }, { session }));
  }
}

const toErasure = ({ _id, eventId, actor, issuer, since, after, erasedBy, isPublished }: ErasureDocument): Erasure => ({
  owner: _id,
  eventId,
  actor,
  issuer,
  since: since.getTime(),
  after: after.toNumber(),
  erasedBy: erasedBy?.toNumber(),
  isPublished,
});
