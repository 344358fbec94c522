import { hash } from 'node:crypto';
import type { PlantEvent } from '../domain/events.ts';
import { canonicalAfter } from './canonical.ts';
import type { Head, LoggedEvent } from './event.ts';

/** The log is not what it was when it was written: the event at this position does not continue the chain. */
export class BrokenChainError extends Error {
  readonly position: number;
  /** What is wrong there. */
  readonly why: string;

  constructor(position: number, why: string) {
    super(`the log is broken at position ${position}: ${why}`);
    this.name = 'BrokenChainError';
    this.position = position;
    this.why = why;
  }
}

/** hash(n) = SHA-256(hash(n-1) || canonical bytes of event n). */
export const hashOf = (previous: Uint8Array, event: Omit<LoggedEvent, 'hash'>): Uint8Array =>
  // By way of hexadecimal: the call that answers with bytes takes more than twice as long.
  Buffer.from(hash('sha256', canonicalAfter(previous, event)), 'hex');

/** The event that follows `head`, in its place and chained. Its time is the clock's, or that of the event before if that is later. */
export function seal(head: Head, event: PlantEvent, eventId: string, clock: number): LoggedEvent {
  const unsealed = { position: head.position + 1, eventId, time: Math.max(clock, head.time), event };
  return { ...unsealed, hash: hashOf(head.hash, unsealed) };
}

/** Throws BrokenChainError unless `event` is the one that follows `head`: position, time and hash. */
export function verifyNext(head: Head, event: LoggedEvent): void {
  const expected = head.position + 1;
  if (event.position !== expected)
    throw new BrokenChainError(expected, `the next event has position ${event.position}`);
  if (event.time < head.time) throw new BrokenChainError(expected, 'its time is before that of the event before it');
  if (Buffer.compare(hashOf(head.hash, event), event.hash) !== 0)
    throw new BrokenChainError(expected, 'its hash does not follow from its content and the hash before it');
}

/**
 * Throws BrokenChainError unless a log that ends at `head` still has `known`, which was its head earlier: it must not have become
 * shorter, and where it ends there still, it must end with the same event. What comes after `known` verifyNext tells.
 */
export function verifyKept(known: Head, head: Head): void {
  if (head.position < known.position)
    throw new BrokenChainError(head.position + 1, `missing, yet the log was seen to reach ${known.position}`);
  if (head.position === known.position && Buffer.compare(head.hash, known.hash) !== 0)
    throw new BrokenChainError(head.position, 'another event than was seen there');
}

/** The head of a log that ends with this event. */
export const headAt = ({ position, hash, time }: LoggedEvent): Head => ({ position, hash, time });
