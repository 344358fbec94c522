import { withTimeout } from '../../../time/pause.ts';

/**
 * Milliseconds after which a call is given up that the driver has not ended: the longest time that the driver waits for
 * a primary and for an answer. A call that was given up may still be running and take effect. Its own filter must keep
 * it from doing harm.
 */
const CALL_LIMIT = 8_000;

/**
 * Limit for a call within a transaction. Longer than all waits of one attempt of the driver (11 s), so a call that was
 * given up is certainly over.
 */
export const WITHIN_TRANSACTION = 12_000;

/**
 * Limit for the commit or the abort of a transaction, which the driver tries twice. A call still running after it was
 * given up would end the next transaction of its session.
 */
export const END_OF_TRANSACTION = 25_000;

/**
 * Limits the time of a call of the driver, whatever the driver does with it. The driver's own limits leave a gap: when
 * it writes a command to a connection that is closing at that moment, it waits for a "drain" event for ever (7.8 and
 * 7.9: `writeCommand` listens for "drain" and "error", not for "close"). Every shared read and every batch after a
 * commit would wait with it.
 *
 * Rejects with an error that, like a lost connection, says nothing about what the server did. The driver keeps counting
 * such a connection as in use: one of the hundred in its pool.
 */
export const withCallLimit = <T>(call: Promise<T>, milliseconds = CALL_LIMIT): Promise<T> =>
  withTimeout(call, milliseconds, () => new Error(`MongoDB's driver has not ended a call in ${milliseconds} ms`));
