import type { Event } from '../../../gen/plantstore/v1/event_pb.ts';
import { concat } from '../../../src/tlog/bytes.ts';
import { HASH_SIZE, recordHash, sameHash } from '../../../src/tlog/hash.ts';
import { subtreeHash, TILE_WIDTH } from '../../../src/tlog/tile.ts';
import { counted } from '../numbers.ts';
import { parseEvent, timeOf } from './event.ts';
import { type ProvenLog, readEntries } from './log.ts';
import { type Findings, NotVerified } from './outcome.ts';

/** Bundles that are requested ahead. No other part of the log is in memory. */
const AHEAD = 4;

/**
 * Reads every entry of a log and proves that they make the tree of its checkpoint: 256 entries make a hash of the tree,
 * which is proved to be under the root. Positions must be 1, 2, 3, ... and times must not fall. Rejects with
 * NotVerified, which names the first wrong event. Memory does not grow with the log. `onProgress`: called with the
 * number of checked events.
 */
export async function proveWholeLog(
  log: ProvenLog,
  findings: Findings,
  onProgress: (events: number) => void,
): Promise<void> {
  const { size } = log.checkpoint;
  let last: Event | undefined;
  for await (const { index, entries } of bundles(log)) {
    await checkBundle(log, index, entries);
    for (const entry of entries) last = next(last, parseEvent(entry));
    onProgress(Number(last!.position));
  }
  findings.checked.push(
    `All entries of the log were read: the ${counted(size, 'event')} make the root of the checkpoint, none changed, missing or added.`,
    'Their positions are 1, 2, 3, ... and their times never fall.',
  );
  findings.unchecked.push(
    'The contents of the events, and the lists that follow from them: plantstore audit verify checks those on the store.',
  );
}

/** Bundles in order, a few of them requested ahead. */
async function* bundles(log: ProvenLog): AsyncGenerator<{ index: number; entries: Uint8Array[] }> {
  const count = Math.ceil(log.checkpoint.size / TILE_WIDTH);
  const asked: Promise<Uint8Array[]>[] = [];
  for (let index = 0; index < count; index++) {
    while (asked.length < AHEAD && index + asked.length < count) {
      const entries = readEntries(log, index + asked.length);
      // The consumer may stop before a later bundle fails.
      entries.catch(() => {});
      asked.push(entries);
    }
    yield { index, entries: await asked.shift()! };
  }
}

async function checkBundle({ tiles }: ProvenLog, index: number, entries: readonly Uint8Array[]): Promise<void> {
  const hashes = entries.map(recordHash);
  if (
    entries.length === TILE_WIDTH &&
    sameHash(subtreeHash(concat(...hashes), 0, TILE_WIDTH), await tiles.hash(1, index))
  )
    return;
  const expected = await tiles.readTile({ level: 0, index, width: entries.length });
  const wrong = hashes.findIndex(
    (hash, at) => !sameHash(hash, expected.subarray(at * HASH_SIZE, (at + 1) * HASH_SIZE)),
  );
  if (wrong >= 0)
    throw new NotVerified(
      `The event at position ${index * TILE_WIDTH + wrong + 1} differs from the tree of the checkpoint: it was changed.`,
    );
}

/** The event, if it may follow the last one. */
function next(last: Event | undefined, event: Event): Event {
  const position = (last?.position ?? 0n) + 1n;
  if (event.position !== position)
    throw new NotVerified(`The event at position ${position} says that its position is ${event.position}.`);
  if (last !== undefined && timeOf(event) < timeOf(last))
    throw new NotVerified(`The time of the event at position ${position} is before that of the event before it.`);
  return event;
}
