import type { ClientSession, Db, Document, Long, MongoClient, Timestamp } from 'mongodb';
import { withCallLimit } from './client.ts';

/**
 * The latest moment of the replica set that this instance has seen. Every read must be at least as new, so that after a
 * failover no member answers with an older state than an earlier answer showed.
 */
export class CausalClock {
  readonly #client: MongoClient;
  #latest: Timestamp | undefined;

  constructor(client: MongoClient) {
    this.#client = client;
  }

  /** Advances the clock to the moment of an answer, if that is later. */
  advance(operationTime: Timestamp | undefined): void {
    if (operationTime === undefined || this.#latest?.greaterThanOrEqual(operationTime) === true) return;
    this.#latest = operationTime;
  }

  /** Runs a command in a session no earlier than the clock, and advances the clock to the session's time. */
  run<T>(command: (session: ClientSession) => Promise<T>): Promise<T> {
    return this.#run(command, (_, { operationTime }) => operationTime);
  }

  /**
   * The same for a command that reads a snapshot: all of its documents, and their moment. The answer has two moments:
   * that of the snapshot, to which this advances the clock, and the session's, which a majority may not have reached.
   * Reads as new as that would wait.
   */
  readSnapshot<Row>(db: Db, command: Document, options: object) {
    const read = async (session: ClientSession) => {
      const { cursor } = await db.command(command, { session, ...options });
      const rows: Row[] = cursor.firstBatch;
      const collection = cursor.ns.slice(db.databaseName.length + 1);
      // A reply holds as many as its batch, and 16 MiB.
      for (let next: Long = cursor.id; !next.isZero(); ) {
        const more = await db.command({ getMore: next, collection }, { session, ...options });
        rows.push(...more.cursor.nextBatch);
        next = more.cursor.id;
      }
      return { rows, moment: cursor.atClusterTime as Timestamp };
    };
    return this.#run(read, ({ moment }) => moment);
  }

  async #run<T>(
    command: (session: ClientSession) => Promise<T>,
    momentOf: (result: T, session: ClientSession) => Timestamp | undefined,
  ): Promise<T> {
    const session = this.#client.startSession({ causalConsistency: true });
    try {
      if (this.#latest !== undefined) session.advanceOperationTime(this.#latest);
      const result = await withCallLimit(command(session));
      this.advance(momentOf(result, session));
      return result;
    } finally {
      await session.endSession();
    }
  }
}
