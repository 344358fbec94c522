import { type Bytes, equal } from './bytes.ts';
import { parseEntries } from './entries.ts';
import { type LogEvent, parseEvent } from './event.ts';
import { fold, recordHash } from './hash.ts';
import type { ProvenLog } from './log.ts';
import { type Findings, NotVerified } from './outcome.ts';
import { entriesPath, TILE_WIDTH, widthAt } from './tile.ts';
import { eventCount } from './words.ts';

/** How to follow the check of a whole log, and how to end it. */
export interface WholeLogOptions {
  readonly signal: AbortSignal;
  /** Called with the number of checked events. */
  readonly onProgress: (events: number) => void;
}

/** Bundles that are requested ahead. No other part of the log is in memory. */
const AHEAD = 4;

/**
 * Reads every entry of a log and proves that they make the tree of its checkpoint: 256 entries make a hash of the tree,
 * which is proved to be under the root. Positions must be 1, 2, 3, ... and times must not fall. Rejects with NotVerified,
 * which names the first wrong event. Memory does not grow with the log.
 */
export async function proveWholeLog(
  log: ProvenLog,
  { signal, onProgress }: WholeLogOptions,
  findings: Findings,
): Promise<number> {
  const { size } = log.tree;
  let last: LogEvent | undefined;
  try {
    for await (const { index, entries } of bundles(log)) {
      signal.throwIfAborted();
      await checkBundle(log, index, entries);
      for (const entry of entries) last = next(last, parseEvent(entry));
      onProgress(last!.position);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new NotVerified(
      `You cancelled the check after ${eventCount(last?.position ?? 0)} of ${size.toLocaleString('en')}.`,
      error,
    );
  }
  if (size === 0) await log.tree.edge();
  findings.checked.push(
    `All entries of the log were read: the ${eventCount(size)} make the root of the checkpoint, none changed, missing or added.`,
    'Their positions are 1, 2, 3, ... and their times never fall.',
  );
  findings.unchecked.push(
    'The contents of the events, and the lists that follow from them: plantstore audit verify checks those on the store.',
  );
  return size;
}

/** Bundles in order, a few of them requested ahead. */
async function* bundles({ source, tree: { size } }: ProvenLog): AsyncGenerator<{ index: number; entries: Bytes[] }> {
  const read = async (index: number) => {
    const width = widthAt(size, 0, index);
    return { index, entries: parseEntries(await source.entries(index, width), width, entriesPath(index, width)) };
  };
  const count = Math.ceil(size / TILE_WIDTH);
  const asked: ReturnType<typeof read>[] = [];
  for (let index = 0; index < count + AHEAD; index++) {
    if (index < count) {
      const bundle = read(index);
      // The consumer may stop before a later bundle fails.
      bundle.catch(() => {});
      asked.push(bundle);
    }
    if (index >= AHEAD - 1 && asked.length > 0) yield await asked.shift()!;
  }
}

async function checkBundle({ tree }: ProvenLog, index: number, entries: readonly Bytes[]): Promise<void> {
  const hashes = await Promise.all(entries.map(recordHash));
  if (entries.length === TILE_WIDTH) {
    const above = await tree.tile(1, Math.floor(index / TILE_WIDTH));
    if (equal(await fold(hashes), above[index % TILE_WIDTH]!)) return;
  }
  const expected = await tree.tile(0, index);
  const wrong = hashes.findIndex((hash, at) => !equal(hash, expected[at]!));
  if (wrong >= 0)
    throw new NotVerified(
      `The event at position ${index * TILE_WIDTH + wrong + 1} is not the one in the tree of the checkpoint: it was changed.`,
    );
}

/** The event, if it may follow the last one. */
function next(last: LogEvent | undefined, event: LogEvent): LogEvent {
  const position = (last?.position ?? 0) + 1;
  if (event.position !== position)
    throw new NotVerified(`The event at position ${position} says that its position is ${event.position}.`);
  if (last !== undefined && event.time < last.time)
    throw new NotVerified(`The time of the event at position ${position} is before that of the event before it.`);
  return event;
}
