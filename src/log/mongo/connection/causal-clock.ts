import type { ClientSession, Document, MongoClient, Timestamp } from 'mongodb';
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
   * The same for a command that reads a snapshot. Its answer has two moments: that of the snapshot, to which this
   * advances the clock, and the session's, which a majority may not have reached. Reads as new as that would wait.
   */
  runSnapshot(command: (session: ClientSession) => Promise<Document>): Promise<Document> {
    return this.#run(command, ({ cursor }) => cursor.atClusterTime);
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
