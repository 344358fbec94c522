import type { Binary, ClientSession, MongoClient, TransactionOptions } from 'mongodb';
import { Backoff } from '../../../time/backoff.ts';
import { pause } from '../../../time/pause.ts';
import { END_OF_TRANSACTION, withCallLimit } from './call-limit.ts';
import type { CausalClock } from './causal-clock.ts';
import { WRITE_CONCERN } from './client.ts';
import { isTransient } from './errors.ts';

/** Times that a transaction is tried while another is in its way, with pauses of up to 2, 4, 8, ... milliseconds in between. */
const ATTEMPTS = 9;

const OPTIONS: TransactionOptions = {
  readPreference: 'primary',
  readConcern: { level: 'majority' },
  writeConcern: WRITE_CONCERN,
};

/**
 * The transactions of this instance, one after the other, all in one server session: the leases name it, so that another instance
 * can end what a dead one left open in it.
 */
export class Transactions {
  readonly #session: ClientSession;
  readonly #clock: CausalClock;
  #last: Promise<unknown> = Promise.resolve();

  constructor(client: MongoClient, clock: CausalClock) {
    this.#session = client.startSession();
    this.#clock = clock;
  }

  /** Id of the server session. */
  get sessionId(): Binary {
    return this.#session.id!.id;
  }

  /**
   * Runs work in a transaction and commits it. The work may run several times, each of its calls limited WITHIN_TRANSACTION:
   * nothing of it may go on once it was given up. Rejects with nothing done, or, when the outcome of the commit stays unknown, with an
   * error that is not transient.
   */
  run<T>(work: (session: ClientSession) => Promise<T>): Promise<T> {
    const result = this.#last.then(() => this.#retry(work));
    this.#last = result.catch(() => {});
    return result;
  }

  async #retry<T>(work: (session: ClientSession) => Promise<T>): Promise<T> {
    const session = this.#session;
    const backoff = new Backoff(2, 2 ** ATTEMPTS);
    for (let attempt = 1; ; attempt++) {
      await this.#abort();
      session.startTransaction(OPTIONS);
      try {
        const result = await work(session);
        await withCallLimit(session.commitTransaction(), END_OF_TRANSACTION);
        this.#clock.advance(session.operationTime);
        return result;
      } catch (error) {
        // Should that be given up too, the next transaction does it first.
        await this.#abort().catch(() => {});
        if (!isTransient(error) || attempt === ATTEMPTS) throw error;
      }
      await pause(backoff.next());
    }
  }

  async #abort(): Promise<void> {
    if (this.#session.inTransaction()) await withCallLimit(this.#session.abortTransaction(), END_OF_TRANSACTION);
  }

  /** Gives the session back. Nothing may be run afterwards. */
  async close(): Promise<void> {
    await withCallLimit(this.#session.endSession()).catch(() => {});
  }
}
