import type { Binary, ClientSession, Db, MongoClient, TransactionOptions } from 'mongodb';
import { Backoff } from '../../../time/backoff.ts';
import { pause } from '../../../time/pause.ts';
import type { CausalClock } from './causal-clock.ts';
import { END_OF_TRANSACTION, WRITE_CONCERN, withCallLimit } from './client.ts';
import { isTransient } from './errors.ts';

/**
 * Attempts of a transaction that conflicts with another, with pauses of up to 2, 4, 8, ... milliseconds between them:
 * some seconds, since a slow server may take as long for the other.
 */
const ATTEMPTS = 12;
/** Attempts after which the other may be that of a frozen predecessor: half a second. */
const PATIENCE = 9;

const OPTIONS: TransactionOptions = {
  readPreference: 'primary',
  readConcern: { level: 'majority' },
  writeConcern: WRITE_CONCERN,
};

/**
 * Runs this instance's transactions one after another in one server session. The projector's lease names it, so that
 * another instance can end a transaction that a dead instance left open. A database user may end its own sessions, so
 * all instances must use the same user.
 */
export class Transactions {
  readonly #session: ClientSession;
  readonly #clock: CausalClock;
  readonly #db: Db;
  #predecessor: Binary | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(client: MongoClient, db: Db, clock: CausalClock) {
    this.#session = client.startSession();
    this.#db = db;
    this.#clock = clock;
  }

  get sessionId(): Binary {
    return this.#session.id!.id;
  }

  /** Ends the open transaction, if any, of a session whose work this instance takes over. Undefined: there is none. */
  async succeed(session: Binary | undefined): Promise<void> {
    this.#predecessor = session;
    await this.#endPredecessor();
  }

  async #endPredecessor(): Promise<void> {
    const id = this.#predecessor;
    if (id !== undefined) await withCallLimit(this.#db.command({ killSessions: [{ id }] }));
  }

  /**
   * Runs work in a transaction and commits it. The work may run several times. Each of its calls is limited
   * WITHIN_TRANSACTION: no call may continue after it was given up. Rejects with nothing done or, when the outcome of
   * the commit stays unknown, with an error that is not transient.
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
        // If this abort is given up too, the next transaction starts with another one.
        await this.#abort().catch(() => {});
        if (!isTransient(error) || attempt === ATTEMPTS) throw error;
        // A command of a frozen predecessor may have arrived after its transaction was ended, and reopened it.
        if (attempt === PATIENCE) await this.#endPredecessor();
      }
      await pause(backoff.next());
    }
  }

  async #abort(): Promise<void> {
    if (this.#session.inTransaction()) await withCallLimit(this.#session.abortTransaction(), END_OF_TRANSACTION);
  }

  /** Ends the session. Nothing may be run afterwards. */
  async close(): Promise<void> {
    await withCallLimit(this.#session.endSession()).catch(() => {});
  }
}
