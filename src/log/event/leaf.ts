import { RECORD_PREFIX, sha256 } from '../../tlog/hash.ts';
import { canonicalAfter, canonicalBytes } from './canonical.ts';
import type { LoggedEvent } from './event.ts';

/** The record of an event in the log's Merkle tree, at index `position - 1`: its canonical bytes. */
export const recordOf = (event: LoggedEvent): Uint8Array => canonicalBytes(event);

/** The hash of that record, RFC 6962's leaf hash. */
export const leafHash = (event: LoggedEvent): Uint8Array => sha256(canonicalAfter(RECORD_PREFIX, event));
