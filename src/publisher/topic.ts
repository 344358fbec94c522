import type { LoggedEvent } from '../log/event/event.ts';

/** The last event that a topic holds. */
export interface Published {
  /** Its position; 0 when the topic holds none. */
  readonly position: number;
  /** Its hash in hexadecimal. Without meaning at position 0. */
  readonly hash: string;
}

/** Whom OwnerErased events erase, by the ids of the events: they do not say so themselves. */
export type ErasedOwners = ReadonlyMap<string, string>;

/** The right to publish to a topic, until somebody else takes it. */
export interface Session {
  /** Where the topic ended when the session began. */
  readonly start: Published;
  /** What an operator should know of, although publishing goes on. */
  readonly notice: string | undefined;
  /**
   * Publishes events that follow the last one that was published, all or none. No events: shows that the session still holds.
   * `erased` names whom OwnerErased events erase; one that it does not name, and what is erased, is passed over.
   * Rejects when they were not published, or nobody knows; the session is then of no more use.
   */
  publish(events: readonly LoggedEvent[], erased?: ErasedOwners): Promise<void>;
  /** Lets go of the connections; what is being published may get there or not. */
  close(): void;
}

/** Where events are published. */
export interface Topic {
  /**
   * Takes the right to publish from whoever has it, whose unfinished work is undone, and finds out where to go on. Rejects with
   * TopicMismatchError when that cannot be known for certain.
   */
  open(): Promise<Session>;
}

/** The topic is not what was published to it: to go on would lose or repeat events, so a person has to decide. */
export class TopicMismatchError extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'TopicMismatchError';
  }
}
