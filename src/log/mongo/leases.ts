import { LONGEST_LEASE, PROJECTOR_LEASE, type Store } from '../store.ts';
import type { Collections, LeaseDocument } from './collections.ts';
import type { CausalClock } from './connection/causal-clock.ts';
import { withCallLimit } from './connection/client.ts';
import { CODE, ignoring } from './connection/errors.ts';
import type { Transactions } from './connection/transactions.ts';

/** Whether a lease is over, as the server evaluates it. */
const OVER = {
  $or: [{ $lte: ['$until', '$$NOW'] }, { $gt: ['$until', { $add: ['$$NOW', LONGEST_LEASE] }] }],
};

/**
 * Leases by the server's clock. The projector's names the server session in which its holder runs transactions. A
 * holder that dies or freezes leaves its transaction open, and the next holder ends that transaction first.
 */
export function mongoLeases({ leases }: Collections, clock: CausalClock, transactions: Transactions) {
  const projection = { holder: 1, session: 1, contact: 1, until: 1, over: OVER };
  const read = (name: string) =>
    clock.run((session) => leases.findOne<LeaseDocument & { over: boolean }>({ _id: name }, { session, projection }));

  const lease: Store['lease'] = async (name, holder, milliseconds, contact) => {
    const known = await read(name);
    if (known !== null && known.holder !== holder) {
      if (!known.over) return false;
      // Before the lease is taken: if this instance dies in between, the next one repeats it.
      if (name === PROJECTOR_LEASE) await transactions.succeed(known.session);
    }
    // One that is given back is over by the clock of every server.
    const until = milliseconds === 0 ? new Date(0) : { $add: ['$$NOW', milliseconds] };
    const about = {
      ...(name === PROJECTOR_LEASE && { session: transactions.sessionId }),
      ...(contact !== undefined && { contact: { $literal: contact } }),
    };
    const set = [{ $set: { holder: { $literal: holder }, until, ...about } }];
    const unchanged = known === null ? { holder: { $exists: false } } : { holder: known.holder, until: known.until };
    const updating = withCallLimit(leases.updateOne({ _id: name, ...unchanged }, set, { upsert: known === null }));
    // Otherwise another instance created the lease first.
    const update = await ignoring(CODE.duplicateKey, updating);
    return update !== undefined && update.matchedCount + update.upsertedCount === 1;
  };

  const leaseholder: Store['leaseholder'] = async (name) => {
    const known = await read(name);
    return known?.contact === undefined || known.over ? undefined : { holder: known.holder, ...known.contact };
  };

  const wasLeased: Store['wasLeased'] = async (name) => (await read(name)) !== null;

  return { lease, leaseholder, wasLeased };
}
