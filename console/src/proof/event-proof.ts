import { type Bytes, equal } from './bytes.ts';
import { parseEntries } from './entries.ts';
import { type EventContent, type EventRecord, type LogEvent, parseContent, parseEvent } from './event.ts';
import { recordHash, sha256 } from './hash.ts';
import type { ProvenLog } from './log.ts';
import { type Findings, NotVerified } from './outcome.ts';
import { entriesPath, TILE_WIDTH, widthAt } from './tile.ts';
import { eventCount } from './words.ts';

/** An event that is proved to be in a log. */
export interface ProvenEvent {
  readonly event: LogEvent;
  /** Its hash in the tree. */
  readonly leaf: Bytes;
  /** Its content, if it is shown and not erased. */
  readonly content: EventContent | undefined;
  /** Position of the event that erased it, if it is erased. */
  readonly erasedBy: number | undefined;
}

/**
 * Proves that a log has an event at a position. If the service's record of it is given, also proves that the record is
 * this event, and that its content fits. Rejects with NotVerified.
 */
export async function proveEvent(
  log: ProvenLog,
  position: number,
  record: EventRecord | undefined,
  findings: Findings,
): Promise<ProvenEvent> {
  const { entry, event, leaf } = await proveEntry(log, position);
  findings.checked.push(
    `The event at position ${position} is entry ${position - 1} of the tree: its hash leads up to the root of the checkpoint.`,
  );
  findings.unchecked.push(
    'Its hash in the chain of events: that needs all events before it. The audit command reads them.',
  );
  if (record === undefined) return { event, leaf, content: undefined, erasedBy: undefined };
  if (!equal(record.event, entry))
    throw new NotVerified(
      `The event that the service shows at position ${position} is not the one in its log: it was changed.`,
    );
  findings.checked.push('The event that the service shows there has the same bytes.');
  return { event, leaf, ...(await proveContent(log, event, record, findings)) };
}

/** Throws NotVerified unless a content fits the commitment of an event. */
export async function checkContent(content: Bytes, { commitment, position, type }: LogEvent): Promise<EventContent> {
  if (!equal(await sha256(content), commitment))
    throw new NotVerified(
      `The content of the event at position ${position} does not fit its commitment: it was changed.`,
    );
  return parseContent(content, type);
}

/** The finding once `checkContent` has succeeded. */
export const CONTENT_CHECKED = 'Its content, with its salt, hashes to the commitment in the event.';

async function proveEntry(log: ProvenLog, position: number) {
  const { source, tree } = log;
  const index = position - 1;
  if (!Number.isSafeInteger(position) || position < 1)
    throw new NotVerified('A position is a whole number, 1 or more.');
  if (position > tree.size)
    throw new NotVerified(
      `The checkpoint has ${eventCount(tree.size)}, so none at position ${position}. A new event appears in it after some seconds.`,
    );
  const bundle = Math.floor(index / TILE_WIDTH);
  const width = widthAt(tree.size, 0, bundle);
  const entries = parseEntries(await source.entries(bundle, width), width, entriesPath(bundle, width));
  const entry = entries[index % TILE_WIDTH]!;
  const [leaf, hashes] = await Promise.all([recordHash(entry), tree.tile(0, bundle)]);
  if (!equal(leaf, hashes[index % TILE_WIDTH]!))
    throw new NotVerified(
      `The event at position ${position} is not the one in the tree of the checkpoint: it was changed.`,
    );
  const event = parseEvent(entry);
  if (event.position !== position)
    throw new NotVerified(`The event at position ${position} says that its position is ${event.position}.`);
  return { entry, event, leaf };
}

async function proveContent(
  log: ProvenLog,
  event: LogEvent,
  { content, erasedBy }: EventRecord,
  findings: Findings,
): Promise<Pick<ProvenEvent, 'content' | 'erasedBy'>> {
  if (content !== undefined) {
    const said = await checkContent(content, event);
    findings.checked.push(CONTENT_CHECKED);
    return { content: said, erasedBy: undefined };
  }
  const erasure = erasedBy > event.position ? (await proveEntry(log, erasedBy)).event : undefined;
  if (erasure?.type !== 'OwnerErased')
    throw new NotVerified(
      `The content of the event at position ${event.position} is missing, and no event of the log erased it.`,
    );
  findings.checked.push(`Its content was erased: the log has the event OwnerErased at position ${erasedBy}.`);
  findings.unchecked.push('That this erasure covers the event: the log has only the number of erased events.');
  return { content: undefined, erasedBy };
}
