import type { ServerResponse } from 'node:http';
import { RequestPermit } from '../admission/request-permit.ts';

/** A request that a connection serves, and its answer: from its headers until it is answered or its client has left. */
export class Exchange {
  readonly response: ServerResponse;
  /** Whether the request waited too long for its turn. */
  readonly isLate: boolean;
  readonly permit = new RequestPermit();
  /** Bytes of the answer that the client has not read, as far as the kernel has not taken them. */
  unread = 0;
  /** Bytes of the answer in memory that are not being sent yet. */
  rows = 0;
  /** Whether the answer lasts as long as its client likes. */
  isStream = false;

  constructor(response: ServerResponse, isLate: boolean) {
    this.response = response;
    this.isLate = isLate;
  }
}
