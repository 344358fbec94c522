import { LONGEST_LEASE, type Store } from '../store.ts';
import type { Collections, LeaseDocument } from './collections.ts';
import type { CausalClock } from './connection/causal-clock.ts';
import { withCallLimit } from './connection/client.ts';
import { CODE, hasCode } from './connection/errors.ts';
import type { Transactions } from './connection/transactions.ts';

/** Whether a lease is over, as the server evaluates it. */
const OVER = {
  $or: [{ $lte: ['$until', '$$NOW'] }, { $gt: ['$until', { $add: ['$$NOW', LONGEST_LEASE] }] }],
};

/** The lease under which transactions run. */
const PROJECTOR = 'projector';

/**
 * Leases by the server's clock. The projector's names the server session in which its holder runs transactions. A holder
 * that dies or freezes leaves its transaction open, and the next holder ends that transaction first.
 */
export class Leases {
  readonly #leases: Collections['leases'];
  readonly #clock: CausalClock;
  readonly #transactions: Transactions;

  constructor({ leases }: Collections, clock: CausalClock, transactions: Transactions) {
    this.#leases = leases;
    this.#clock = clock;
    this.#transactions = transactions;
  }

  readonly lease: Store['lease'] = async (name, holder, milliseconds, contact) => {
    const lease = await this.#read(name);
    if (lease !== undefined && lease.holder !== holder) {
      if (!lease.over) return false;
      // Before the lease is taken: if this instance dies in between, the next one repeats it.
      if (name === PROJECTOR) await this.#transactions.succeed(lease.session);
    }
    const until = { $add: ['$$NOW', milliseconds] };
    const about = {
      ...(name === PROJECTOR && { session: this.#transactions.sessionId }),
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
  };

  readonly leaseholder: Store['leaseholder'] = async (name) => {
    const lease = await this.#read(name);
    return lease?.contact === undefined || lease.over ? undefined : { holder: lease.holder, ...lease.contact };
  };

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
