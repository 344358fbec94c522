import type { PlantEvent } from '../domain/events.ts';

/** An event in its place in the log. Nothing changes or removes it. */
export interface LoggedEvent {
  /** 1, 2, 3, ... in commit order without a gap; far below 2^53, so a number holds it exactly. */
  readonly position: number;
  /** UUID, unique in the log. */
  readonly eventId: string;
  /** Milliseconds since 1970, never less than that of the event before. */
  readonly time: number;
  readonly event: PlantEvent;
  /** SHA-256 that chains this event to the one before it, 32 bytes. See chain.ts. */
  readonly hash: Uint8Array;
}

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
