import { type DomainEvent, leavesPlant, type PlantEvent } from '../../domain/events.ts';
import { textLength } from '../../domain/plant.ts';

/** Bytes of the key of an OwnerErased event's subject. */
export const KEY_BYTES = 16;

/** Whom an OwnerErased event erases. It stands beside the event until everything is removed. */
export interface Erases {
  readonly owner: string;
  /** KEY_BYTES random bytes: the subject is SHA-256(key || owner). None: an event of 1.0.0, which has no subject. */
  readonly key: Uint8Array;
  /** Whether the contents are removed, and unused space of the database is cleared of them. */
  readonly isCleared: boolean;
  /** Whether the topic has the event. */
  readonly isPublished: boolean;
}

/** The erasure of an owner of which nothing is done yet, also where its event is imported. */
export const begunErasure = (owner: string, key: Uint8Array): Erases => ({
  owner,
  key,
  isCleared: false,
  isPublished: false,
});

/** An event as a store keeps it: the bytes that are hashed, unknown fields too, and what stands beside them. */
export interface StoredEvent {
  /** 1, 2, 3, ... in commit order without a gap. Far below 2^53, so a number holds it exactly. */
  readonly position: number;
  /** The canonical bytes of plantstore.v1.Event (proto/plantstore/v1/event.proto); the leaf of the transparency log. */
  readonly bytes: Uint8Array;
  /** SHA-256 that chains this event to the previous one, 32 bytes. See chain.ts. */
  readonly hash: Uint8Array;
  /** The canonical bytes of plantstore.v1.Content. Undefined: erased. */
  readonly content: Uint8Array | undefined;
  /** Position of the OwnerErased event that erased the content. Undefined: not erased. */
  readonly erasedBy: number | undefined;
  /** Only with an OwnerErased event whose erasure is not complete. */
  readonly erases?: Erases | undefined;
}

/**
 * An event at its position in the log, with its content. No event is ever changed or removed. Once its content is
 * erased, it holds only the commitment to it. Everything beside the members of StoredEvent is decoded from them.
 */
export interface LoggedEvent extends StoredEvent {
  /** UUID, unique in the log. */
  readonly eventId: string;
  /** Milliseconds since 1970, never less than that of the previous event. */
  readonly time: number;
  /** The type of the event. It stays when the rest of the content is erased. */
  readonly type: DomainEvent['type'];
  /** SHA-256 of `content`, 32 bytes. */
  readonly commitment: Uint8Array;
  /** The content. Undefined: erased. */
  readonly event: DomainEvent | undefined;
  /** 16 random bytes of the content, which protect it against guessing. Undefined: erased. */
  readonly salt: Uint8Array | undefined;
  /** The bytes have a field that this release does not know. */
  readonly isExtended: boolean;
  /** What is wrong, in words, with what the store keeps beside the event to find it. Only where that was compared. */
  readonly misfiled?: string;
}

/** The event's change of a plant. Undefined for other events and for erased content. */
export const plantEventOf = ({ event }: Pick<LoggedEvent, 'event'>): PlantEvent | undefined =>
  event === undefined || event.type === 'OwnerErased' ? undefined : event;

/** The end of the log, which the next event builds on. */
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

/** The position and id of a command's event, or of the one that used its idempotency key before. */
export interface Committed extends Pick<LoggedEvent, 'position' | 'eventId'> {
  /** An earlier command with the same idempotency key produced the event; this command did nothing. */
  readonly replayed?: true;
}

/** What a store finds an event by. It follows from the content. Undefined: the event has none, or no content. */
export function keysOf(logged: LoggedEvent) {
  const { owner, plantId, idempotencyKey } = plantEventOf(logged) ?? {};
  return { owner, plantId, idempotencyKey };
}

/** The event, and whether what a store keeps as its keys are its keys. */
export function withKeys(logged: LoggedEvent, kept: Record<keyof ReturnType<typeof keysOf>, unknown>): LoggedEvent {
  const keys = keysOf(logged);
  const wrong = (Object.keys(keys) as (keyof typeof keys)[]).find((name) => kept[name] !== keys[name]);
  if (wrong === undefined) return logged;
  return { ...logged, misfiled: `the ${wrong} in the index of the store differs from that of the event` };
}

/** Bytes of an event in memory without its bytes and texts (measured with the usual ones: 1,550 to 1,780 in all). */
const EVENT_OVERHEAD = 1_300;

/** Most bytes of a UTF-16 code unit, with a tenth for what V8 leaves unused between long texts. */
const CODE_UNIT = 2.2;

/** Most bytes of an event in memory: its bytes, all its texts, and the texts of its idempotency key once more. */
export function sizeOf(logged: LoggedEvent): number {
  const kept = EVENT_OVERHEAD + logged.bytes.length + (logged.content?.length ?? 0);
  const event = plantEventOf(logged);
  if (event === undefined) return kept;
  const { owner, actor, issuer, idempotencyKey: key, traceparent } = event;
  const named = leavesPlant(event) ? textLength(event) : 0;
  const about = owner.length + actor.length + (issuer?.length ?? 0) + (key?.length ?? 0) + (traceparent?.length ?? 0);
  const inIndex = key === undefined ? 0 : key.length + owner.length;
  return kept + Math.ceil(CODE_UNIT * (about + named + inIndex));
}
