import type { DomainEvent } from '../../domain/events.ts';
import { randomBytes } from '../../time/host.ts';
import { RECORD_PREFIX, sha256 } from '../../tlog/hash.ts';
import { encodeContent, encodeEvent } from './encode.ts';
import type { Erases, Head, LoggedEvent, StoredEvent } from './event.ts';
import { SALT_BYTES } from './fields.ts';
import { keptBytes } from './kept-bytes.ts';

/** The log differs from what was written: the event at this position does not continue the chain. */
export class BrokenChainError extends Error {
  readonly position: number;
  /** What is wrong there, in words. */
  readonly why: string;

  constructor(position: number, why: string) {
    super(`the log is broken at position ${position}: ${why}`);
    this.name = 'BrokenChainError';
    this.position = position;
    this.why = why;
  }
}

/** Joins a prefix and the bytes of an event, to be hashed. */
let hashed = Buffer.alloc(4 * 1024);

function sha256After(prefix: Uint8Array, bytes: Uint8Array): Uint8Array {
  const length = prefix.length + bytes.length;
  if (length > hashed.length) hashed = Buffer.alloc(2 * length);
  hashed.set(prefix);
  hashed.set(bytes, prefix.length);
  return sha256(hashed.subarray(0, length));
}

/** hash(n) = SHA-256(hash(n-1) || canonical bytes of event n). */
export const hashOf = (previous: Uint8Array, { bytes }: Pick<StoredEvent, 'bytes'>): Uint8Array =>
  sha256After(previous, bytes);

/** The hash of an event in the log's Merkle tree, at index `position - 1`: RFC 6962's leaf hash of its bytes. */
export const leafHash = ({ bytes }: Pick<StoredEvent, 'bytes'>): Uint8Array => sha256After(RECORD_PREFIX, bytes);

/** How an OwnerErased event names an owner to whoever has the key: SHA-256(key || UTF-8 of the owner). */
export const subjectOf = ({ key, owner }: Pick<Erases, 'key' | 'owner'>): Uint8Array =>
  sha256(Buffer.concat([key, Buffer.from(owner)]));

/** The event after `head`, sealed. Its time is the clock's, or that of the previous event if that is later. */
export function seal(
  head: Head,
  event: DomainEvent,
  eventId: string,
  clock: number,
  salt = randomBytes(SALT_BYTES),
): LoggedEvent {
  const content = encodeContent(event, salt);
  const position = head.position + 1;
  const time = Math.max(clock, head.time);
  const { type } = event;
  const commitment = keptBytes(sha256(content));
  const bytes = encodeEvent({ position, eventId, time, type, commitment, event });
  const hash = keptBytes(hashOf(head.hash, { bytes }));
  return {
    position,
    bytes,
    hash,
    content,
    erasedBy: undefined,
    eventId,
    time,
    type,
    commitment,
    event,
    salt,
    isExtended: false,
  };
}

/** Throws BrokenChainError unless `event` is the one that follows `head`: position, time and hash. */
export function verifyNext(head: Head, event: LoggedEvent): void {
  const expected = head.position + 1;
  if (event.position !== expected)
    throw new BrokenChainError(expected, `the next event has position ${event.position}`);
  if (event.time < head.time)
    throw new BrokenChainError(expected, 'its time is earlier than that of the previous event');
  if (Buffer.compare(hashOf(head.hash, event), event.hash) !== 0)
    throw new BrokenChainError(expected, 'its hash does not match its content and the hash before it');
}

/** The head of a log after these events, which ended at `head`. Throws as `verifyNext` does. */
export function headAfter(head: Head, events: readonly LoggedEvent[]): Head {
  let last = head;
  for (const event of events) {
    verifyNext(last, event);
    last = headAt(event);
  }
  return last;
}

/** The head of a log after its next event. Throws as `verifyNext` and `verifyContent` do. */
export function headAfterIntact(head: Head, event: LoggedEvent): Head {
  verifyNext(head, event);
  verifyContent(event);
  return headAt(event);
}

/**
 * Throws BrokenChainError unless a log that ends at `head` still has `known`, its earlier head: it must not be shorter,
 * nor end at that position with another event. verifyNext checks what comes after.
 */
export function verifyKept(known: Head, head: Head): void {
  if (head.position < known.position)
    throw new BrokenChainError(
      head.position + 1,
      `missing, although this instance has read the log up to position ${known.position}`,
    );
  if (head.position === known.position && Buffer.compare(head.hash, known.hash) !== 0)
    throw new BrokenChainError(head.position, 'it differs from the event that this instance read there before');
}

/**
 * Throws BrokenChainError when the event's content does not match its commitment, or when its subject is not the owner
 * whom the store names as erased. Does not check erased content.
 */
export function verifyContent({ position, content, commitment, event, erases }: LoggedEvent): void {
  if (content !== undefined && Buffer.compare(sha256(content), commitment) !== 0)
    throw new BrokenChainError(position, 'its content does not match its commitment');
  if (erases === undefined || event?.type !== 'OwnerErased') return;
  // Events of 1.0.0 have no subject, and so no key.
  const isRight =
    event.subject === undefined ? erases.key.length === 0 : Buffer.compare(event.subject, subjectOf(erases)) === 0;
  if (!isRight)
    throw new BrokenChainError(position, 'its subject does not match the owner that the store keeps for it');
}

/** Whether `verifyContent` finds nothing. An erasure of which it finds something erases nobody. */
export function isIntact(event: LoggedEvent): boolean {
  try {
    verifyContent(event);
    return true;
  } catch {
    return false;
  }
}

/** The head of a log that ends with this event. */
export const headAt = ({ position, hash, time }: LoggedEvent): Head => ({ position, hash, time });
