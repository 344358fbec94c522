import type { Db, Document } from 'mongodb';
import type { LoggedEvent } from '../event/event.ts';
import { RefusedAppendError } from '../store.ts';
import { withCallLimit } from './connection/call-limit.ts';
import type { CausalClock } from './connection/causal-clock.ts';
import { BSON, WRITE_CONCERN } from './connection/client.ts';
import { CODE, hasCode } from './connection/errors.ts';
import { toEventDocument } from './documents.ts';
import { slices } from './slices.ts';

/**
 * Events in one insert. A command may have 16 MiB. An event has at most two texts of 4 KiB, two names from a token and
 * a short key.
 */
const INSERT_LIMIT = 256;

/** The part of the insert command's response that is used here. */
interface Inserted extends Document {
  readonly n: number;
  readonly writeErrors?: readonly { readonly code: number }[];
}

/**
 * Appends by ordered inserts outside any transaction. `_id` is the position, so the first insert of a position wins it.
 * An ordered insert stops at the first taken position, so the inserted events form a prefix.
 *
 * It uses the plain command instead of insertMany: a single response says how many events were inserted and what
 * stopped the insert. The driver rejects any response, success or duplicate, for which the server saw no majority in
 * time. So both the counted events and the event in the way are durable.
 */
export async function appendEvents(db: Db, clock: CausalClock, events: readonly LoggedEvent[]): Promise<number> {
  let appended = 0;
  for (const slice of slices(events, INSERT_LIMIT)) {
    const insert = {
      insert: 'events',
      ordered: true,
      documents: slice.map(toEventDocument),
      writeConcern: { w: WRITE_CONCERN.w, j: WRITE_CONCERN.journal, wtimeout: WRITE_CONCERN.wtimeoutMS },
    };
    const answer = (await withCallLimit(db.command(insert, BSON)).catch((error) => {
      throw appended === 0 && hasCode(error, CODE.unauthorized) ? mayNotAppend(error) : error;
    })) as Inserted;
    const [refused] = answer.writeErrors ?? [];
    if (refused !== undefined && refused.code !== CODE.duplicateKey)
      throw new Error(`an append was interrupted: MongoDB error ${refused.code}`);
    clock.advance(answer.operationTime);
    appended += answer.n;
    if (answer.n < slice.length) break;
  }
  return appended;
}

/** The server checks the right before it does anything. */
const mayNotAppend = (cause: unknown) =>
  new RefusedAppendError('the database user of the service may not insert events', { cause });
