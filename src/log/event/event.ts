import type { DomainEvent, PlantEvent } from '../../domain/events.ts';

/**
 * An event in its place in the log, and what it says. Nothing changes or removes the event. What it says may be erased: the event
 * holds no more than a commitment to it.
 */
export interface LoggedEvent {
  /** 1, 2, 3, ... in commit order without a gap; far below 2^53, so a number holds it exactly. */
  readonly position: number;
  /** UUID, unique in the log. */
  readonly eventId: string;
  /** Milliseconds since 1970, never less than that of the event before. */
  readonly time: number;
  /** What happened; it stays when the rest of what the event says is erased. */
  readonly type: DomainEvent['type'];
  /** SHA-256 of the canonical bytes of the content, 32 bytes. See canonical.ts. */
  readonly commitment: Uint8Array;
  /** SHA-256 that chains this event to the one before it, 32 bytes. See chain.ts. */
  readonly hash: Uint8Array;
  /** What it says. Undefined: erased. */
  readonly event: DomainEvent | undefined;
  /** 16 random bytes of the content, so that nobody finds the content by trying. Undefined: erased. */
  readonly salt: Uint8Array | undefined;
  /** Position of the OwnerErased event for which the content was removed; undefined while it is there. */
  readonly erasedBy?: number | undefined;
}

/** What happened to a plant; undefined where nothing did, or where what the event said is erased. */
export const plantEventOf = ({ event }: Pick<LoggedEvent, 'event'>): PlantEvent | undefined =>
  event === undefined || event.type === 'OwnerErased' ? undefined : event;

/** The end of the log: what the next event builds on. */
export interface Head {
  /** Position of the last event; 0 for an empty log. */
  readonly position: number;
  /** Its hash; 32 zero bytes for an empty log. */
  readonly hash: Uint8Array;
  /** Its time in milliseconds since 1970; 0 for an empty log. */
  readonly time: number;
}

/** The head of an empty log. */
export const EMPTY_HEAD: Head = { position: 0, hash: new Uint8Array(32), time: 0 };

/** Where the event of a command is. Its id is that of an earlier event where the command's idempotency key had been used before. */
export interface Committed extends Pick<LoggedEvent, 'position' | 'eventId'> {
  /** It is that of an earlier command with the same idempotency key: this one did nothing. */
  readonly replayed?: true;
}
