import type { PublisherStatus } from './status.ts';

/** A message of the publisher's thread with its status. */
export interface StatusMessage {
  readonly status: PublisherStatus;
  /** True for a new state or detail; false for the regular report. */
  readonly changed: boolean;
}

/** The message that closes the publisher's thread. */
export const CLOSE = 'close';

/** Milliseconds between two regular reports. */
export const REPORT = 1_000;
