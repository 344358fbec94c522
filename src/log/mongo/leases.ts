import type { Binary, Db } from 'mongodb';
import { type Contact, type Leaseholder, LONGEST_LEASE } from '../store.ts';
import type { Collections, LeaseDocument } from './collections.ts';
import { withCallLimit } from './connection/call-limit.ts';
import type { CausalClock } from './connection/causal-clock.ts';
import { CODE, hasCode } from './connection/errors.ts';

/** Whether a lease is over, as the server evaluates it. */
const OVER = {
  $or: [{ $lte: ['$until', '$$NOW'] }, { $gt: ['$until', { $add: ['$$NOW', LONGEST_LEASE] }] }],
};

/** The lease under which transactions run. */
const PROJECTOR = 'projector';

/**
 * Leases by the server's clock. The projector's names the server session in which its holder runs transactions. A holder that dies or freezes leaves its transaction open, and the next holder ends that transaction
 * first. A database user may end its own sessions, so all instances must use the same user.
 */
export class Leases {
  readonly #db: Db;
  readonly #leases: Collections['leases'];
  readonly #clock: CausalClock;
  readonly #session: Binary;
  #ended: Binary | undefined;

  constructor(db: Db, leases: Collections['leases'], clock: CausalClock, session: Binary) {
    this.#db = db;
    this.#leases = leases;
    this.#clock = clock;
    this.#session = session;
  }

  /** See Store.lease. */
  async take(name: string, holder: string, milliseconds: number, contact?: Contact): Promise<boolean> {
    const lease = await this.#read(name);
    if (lease !== undefined && lease.holder !== holder) {
      if (!lease.over) return false;
      // Before the lease is taken: if this instance dies in between, the next one repeats it.
      if (name === PROJECTOR) {
        this.#ended = lease.session;
        await this.endPredecessor();
      }
    }
    const until = { $add: ['$$NOW', milliseconds] };
    const about = {
      ...(name === PROJECTOR && { session: this.#session }),
      ...(contact !== undefined && { contact: { $literal: contact } }),
    };
    const set = [{ $set: { holder: { $literal: holder }, until, ...about } }];
    const unchanged =
      lease === undefined ? { holder: { $exists: false } } : { holder: lease.holder, until: lease.until };
    try {
      const update = await withCallLimit(
        this.#leases.updateOne({ _id: name, ...unchanged }, set, { upsert: lease === undefined }),
      );
      return update.matchedCount + update.upsertedCount === 1;
    } catch (error) {
      // Another instance created the lease first.
      if (hasCode(error, CODE.duplicateKey)) return false;
      throw error;
    }
  }

  /** See Store.leaseholder. */
  async holder(name: string): Promise<Leaseholder | undefined> {
    const lease = await this.#read(name);
    return lease?.contact === undefined || lease.over ? undefined : { holder: lease.holder, ...lease.contact };
  }

  /** Ends the open transaction, if any, of the holder that this instance took a lease over from. */
  async endPredecessor(): Promise<void> {
    if (this.#ended !== undefined) await withCallLimit(this.#db.command({ killSessions: [{ id: this.#ended }] }));
  }

  async #read(name: string): Promise<(LeaseDocument & { over: boolean }) | undefined> {
    const lease = await this.#clock.run((session) =>
      this.#leases.findOne<LeaseDocument & { over: boolean }>(
        { _id: name },
        { session, projection: { holder: 1, session: 1, contact: 1, until: 1, over: OVER } },
      ),
    );
    return lease ?? undefined;
  }
}
