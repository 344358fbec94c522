import type { LoggedEvent } from '../log/event/event.ts';

/** Up to where a topic has the log. The last event may have had no message: see `publish`. */
export interface Published {
  /** Position of the last event; 0 if none was published. */
  readonly position: number;
  /** Its hash in hexadecimal. Without meaning at position 0. */
  readonly hash: string;
}

/** The exclusive right to publish to a topic, until another session opens. */
export interface TopicSession {
  /** The end of the topic when the session began. */
  readonly start: Published;
  /** What an operator should know, although publication works. */
  readonly notice: string | undefined;
  /**
   * Publishes the next events, all or none; without events, checks that the session is valid. Skips erased events, and
   * OwnerErased events whose erasure is complete. After a rejection, which may leave this unknown, it is unusable.
   */
  publish(events: readonly LoggedEvent[]): Promise<void>;
  /** Closes the connections. Events being published may or may not reach the topic. */
  close(): void;
}

/** A topic for events. */
export interface Topic {
  /** Opens a session, ends any other, and finds where to continue. Rejects with MismatchError if that is uncertain. */
  open(): Promise<TopicSession>;
}

/** What an error says. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A topic has other content than was published: an operator must decide what to lose or repeat. */
export class MismatchError extends Error {
  constructor(why: string) {
    super(`${why}; see docs/events.md`);
    this.name = 'MismatchError';
  }
}
