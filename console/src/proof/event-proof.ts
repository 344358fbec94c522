import { create } from '@bufbuild/protobuf';
import { type Content, type Event, type Record, RecordSchema } from '../../../gen/plantstore/v1/event_pb.ts';
import { recordHash, sameHash, sha256 } from '../../../src/tlog/hash.ts';
import { TILE_WIDTH } from '../../../src/tlog/tile.ts';
import { counted } from '../numbers.ts';
import { contentBytes, eventBytes, parseContent, parseEvent } from './event.ts';
import { type ProvenLog, readEntries } from './log.ts';
import { type Findings, NotVerified } from './outcome.ts';

/**
 * Proves that a log has an event at a position. If the service's record of it is given, also proves that the record is
 * this event, and that its content fits. Resolves with what is proved. Rejects with NotVerified.
 */
export async function proveEvent(
  log: ProvenLog,
  position: number,
  record: Record | undefined,
  findings: Findings,
): Promise<Record> {
  const { entry, event } = await proveEntry(log, position);
  findings.checked.push(
    `The event at position ${position} is entry ${position - 1} of the tree: its hash leads up to the root of the checkpoint.`,
  );
  findings.unchecked.push(
    'Its hash in the chain of events: that needs all events before it. The audit command reads them.',
  );
  if (record === undefined) return create(RecordSchema, { event });
  if (!sameHash(eventBytes(record.event), entry))
    throw new NotVerified(
      `The event that the service shows at position ${position} is not the one in its log: it was changed.`,
    );
  findings.checked.push('The event that the service shows there has the same bytes.');
  return proveContent(log, event, record, findings);
}

/** Throws NotVerified unless a content fits the commitment of an event. */
export function checkContent(content: Uint8Array, { commitment, position, type }: Event): Content {
  if (!sameHash(sha256(content), commitment))
    throw new NotVerified(
      `The content of the event at position ${position} does not fit its commitment: it was changed.`,
    );
  return parseContent(content, type);
}

/** The finding once `checkContent` has succeeded. */
export const CONTENT_CHECKED = 'Its content, with its salt, hashes to the commitment in the event.';

async function proveEntry(log: ProvenLog, position: number) {
  const { size } = log.checkpoint;
  const index = position - 1;
  if (!Number.isSafeInteger(position) || position < 1)
    throw new NotVerified(`A position is a whole number from 1 to ${Number.MAX_SAFE_INTEGER}.`);
  if (position > size)
    throw new NotVerified(
      `The checkpoint has ${counted(size, 'event')}, so none at position ${position}. An event that was just added appears in it after some seconds.`,
    );
  const entries = await readEntries(log, Math.floor(index / TILE_WIDTH));
  const entry = entries[index % TILE_WIDTH]!;
  const leaf = recordHash(entry);
  if (!sameHash(leaf, await log.tiles.hash(0, index)))
    throw new NotVerified(`The event at position ${position} differs from the tree of the checkpoint: it was changed.`);
  const event = parseEvent(entry);
  if (Number(event.position) !== position)
    throw new NotVerified(`The event at position ${position} says that its position is ${event.position}.`);
  return { entry, event };
}

async function proveContent(
  log: ProvenLog,
  event: Event,
  { content, erasedBy }: Record,
  findings: Findings,
): Promise<Record> {
  if (content !== undefined) {
    const said = checkContent(contentBytes(content), event);
    findings.checked.push(CONTENT_CHECKED);
    return create(RecordSchema, { event, content: said });
  }
  const erasure = erasedBy > event.position ? (await proveEntry(log, Number(erasedBy))).event : undefined;
  if (erasure?.type !== 'OwnerErased')
    throw new NotVerified(
      `The content of the event at position ${event.position} is missing, and no event of the log erased it.`,
    );
  findings.checked.push(`Its content was erased: the log has the event OwnerErased at position ${erasedBy}.`);
  findings.unchecked.push('That this erasure covers the event: the log has only the number of erased events.');
  return create(RecordSchema, { event, erasedBy });
}
