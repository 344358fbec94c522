import { isIntact, leafHash } from '../log/event/chain.ts';
import type { LoggedEvent } from '../log/event/event.ts';
import { eventOfProvenRecord } from '../log/event/record.ts';
import { type NotedCheckpoint, openCheckpoint } from '../tlog/checkpoint.ts';
import { cosignedAt, signatureBy, signersOf } from '../tlog/note.ts';
import { checkRecord } from '../tlog/proof.ts';
import { parseTlogProof } from '../tlog/tlog-proof.ts';
import { nameOfVerifierKey, type VerifierKey } from '../tlog/verifier-key.ts';

/** What a receipt proves: the log contained this event when its checkpoint was signed. */
export interface Proved {
  /** Its `hash` and `erasedBy` are not proved: the tree does not have them. */
  readonly event: LoggedEvent;
  /** Name of the log. */
  readonly origin: string;
  /** Events in the log at that time. */
  readonly size: number;
  /** The witnesses that cosigned, and when (milliseconds since 1970). */
  readonly cosigned: readonly { readonly name: string; readonly time: number }[];
}

/** Verifies a receipt by the keys of its log and of witnesses, each of which must have cosigned, or throws why not. */
export function checkReceipt(receipt: string, key: VerifierKey, witnesses: readonly VerifierKey[] = []): Proved {
  const { extra, index, hashes, checkpoint: note } = parseTlogProof(receipt);
  if (extra === undefined) throw new Error('the proof is not a receipt: it does not contain the event');
  const checkpoint = openCheckpoint(note, key);
  const { origin, size, root } = checkpoint;
  const event = openDisclosed(extra);
  if (event.position !== index + 1)
    throw new Error(`the receipt contains event ${event.position}, but proves event ${index + 1}`);
  checkRecord(hashes, size, root, index, leafHash(event));
  return { event, origin, size, cosigned: cosignaturesOf(checkpoint, witnesses) };
}

/** When each witness cosigned. Throws if one did not. */
function cosignaturesOf({ note }: NotedCheckpoint, cosigners: readonly VerifierKey[]): Proved['cosigned'] {
  const found = cosigners.map((cosigner) => ({ cosigner, signature: signatureBy(cosigner, note) }));
  const missing = found.filter(({ signature }) => signature === undefined);
  if (missing.length > 0) {
    const names = missing.map(({ cosigner }) => nameOfVerifierKey(cosigner)).join(', ');
    throw new Error(
      `the checkpoint of the receipt lacks the cosignature of ${names}; it is signed by ${signersOf(note)}`,
    );
  }
  return found.map(({ cosigner, signature }) => ({ name: cosigner.name, time: cosignedAt(signature!.bytes) }));
}

/** The event in a receipt. Throws if the data holds anything else, or if the content does not match the commitment. */
function openDisclosed(extra: Uint8Array): LoggedEvent {
  const event = disclosed(extra);
  if (!isIntact(event))
    throw new Error(
      `the content in the receipt is not the one that event ${event.position} commits to: it was changed`,
    );
  if (event.erasedBy !== undefined && event.erasedBy <= event.position)
    throw new Error(
      `the receipt says that event ${event.erasedBy} erased event ${event.position}, but an erasure only removes the content of earlier events`,
    );
  return event;
}

function disclosed(extra: Uint8Array): LoggedEvent {
  try {
    return eventOfProvenRecord(extra);
  } catch (error) {
    throw new Error(`the receipt does not contain the event that it proves: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
