import type { ClientSession, MongoClient, Timestamp } from 'mongodb';
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
  async run<T>(command: (session: ClientSession) => Promise<T>): Promise<T> {
    const session = this.#client.startSession({ causalConsistency: true });
    try {
      if (this.#latest !== undefined) session.advanceOperationTime(this.#latest);
      const result = await withCallLimit(command(session));
      this.advance(session.operationTime);
      return result;
    } finally {
      await session.endSession();
    }
  }
}
