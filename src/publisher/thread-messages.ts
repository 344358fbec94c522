import type { PublisherStatus } from './status.ts';

/** What the publisher's thread tells: its status, and whether it is news. */
export interface StatusMessage {
  readonly status: PublisherStatus;
  /** True for news: another state, or a new detail. False for the regular report. */
  readonly changed: boolean;
}

/** What the publisher's thread is told. */
export const CLOSE = 'close';

/** Milliseconds between two regular reports. */
export const REPORT = 1_000;
