import { withTimeout } from '../../../time/timeout.ts';

/**
 * Milliseconds after which a call is given up that the driver has not ended: as long as it waits for a primary and for an answer. A
 * call that was given up may still be alive, and do what it was to do; what it must not do then, its own filter keeps it from.
 */
const CALL_LIMIT = 8_000;

/** For a call within a transaction. Beyond all that one attempt of the driver may wait for (11 s): what is given up is dead. */
export const WITHIN_TRANSACTION = 12_000;

/**
 * For the commit or the abort of a transaction, which the driver tries twice. One that were still alive would end whatever
 * transaction its session has by then.
 */
export const END_OF_TRANSACTION = 25_000;

/**
 * Ends a call of the driver, whatever becomes of it there. The driver's own limits leave a gap: a command that it writes to a
 * connection just when that closes waits for the connection to drain, for ever (7.8 and 7.9, `writeCommand` hears of "drain" and
 * "error", not of "close"). Everybody who shares a read, and every batch after a commit, would wait with it.
 *
 * Rejects with an error that says nothing about what the server did, as a lost connection does. The driver keeps such a connection
 * counted as in use: one place of the hundred in its pool.
 */
export const withCallLimit = <T>(call: Promise<T>, milliseconds = CALL_LIMIT): Promise<T> =>
  withTimeout(call, milliseconds, () => new Error(`MongoDB's driver has not ended a call in ${milliseconds} ms`));
