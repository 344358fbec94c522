import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { positionBefore, since } from '../../audit/fold/as-of.ts';
import type { FORMATS } from '../../audit/formats/formats.ts';
import { eventsOfOwner, exportedEvents, selectedEvents } from '../../audit/steady.ts';
import { isIntact, verifyContent } from '../../log/event/chain.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import type { Store } from '../../log/store.ts';
import { intactRange } from '../../log/whole-range.ts';
import { ownerName, plantId, position, time } from '../arguments.ts';
import { write } from '../output.ts';
import { withStore } from '../with-store.ts';

interface Options {
  readonly after: number;
  readonly from?: number;
  readonly owner?: string;
  readonly id?: bigint;
  readonly follow?: true;
  readonly public?: true;
  readonly format: keyof typeof FORMATS;
}

/** Milliseconds between two polls for new events. */
const POLL_INTERVAL = 100;

/** `plantstore audit export` */
export const exportCommand = (): Command =>
  new Command('export')
    .description('Print the events in order of position, one JSON object per line (NDJSON).')
    .option('--after <position>', 'only events after this position', position, 0)
    .addOption(
      new Option('--from <time>', 'only events at this time or later; a date is its beginning, in UTC')
        .argParser(time)
        .conflicts('after'),
    )
    .option('--owner <name>', 'only events of this owner', ownerName)
    .option('--id <id>', 'only events of plants with this id', plantId)
    .option('--follow', 'keep printing new events until stopped')
    .option('--public', 'the events without their contents; safe to publish, because they name nobody')
    .addOption(
      new Option('--format <format>', 'protobuf: length-prefixed plantstore.v1.Record messages (with --public: Event)')
        .choices(Object.keys({ ndjson: true, protobuf: true } satisfies Record<keyof typeof FORMATS, true>))
        .default('ndjson'),
    )
    .addHelpText(
      'after',
      `
One line, broken here to be read:
  {"position":1,"eventId":"...","time":"2026-01-02T03:04:05.678Z",
   "type":"PlantAdded","owner":"alice","actor":"alice","plantId":7,
   "name":"Fern","tag":"indoor","salt":"...","hash":"..."}
plantId is an exact int64. An unset tag is left out. PlantDeleted has neither
name nor tag. The hash covers the event and the previous hash.
An erased event has, in place of its content, a commitment and erasedBy: the
position of its OwnerErased event. An export that has such an event goes on up
to that position. Until an erasure is complete, its OwnerErased event has
erasesOwner and erasesKey. If an owner is erased meanwhile, the export may fail:
export again. With --owner and --follow it fails at the erasure of that owner.
With --id and --follow alone it fails at any erasure, once it has printed an
event. One that goes on after an erasure with --after does not fail, and may not
show whom it erased: export again from the beginning.
If the content of an event was changed in the store, the command fails: with
--owner, --id or --follow there, otherwise behind the last event, so that what
is left of a damaged log can be read.
To resume an interrupted export, pass its last position to --after. The command
fails if the log ends before that position, also later with --follow.

Examples:
  $ plantstore audit export > log.ndjson
  $ plantstore audit export --public > events.ndjson
  $ plantstore audit export --after 1000 | head -n 5
  $ plantstore audit export --from 2026-01-02
  $ plantstore audit export --from 2026-01-02T03:04:05Z --owner alice --follow`,
    )
    .action((options: Options) => withStore('read', (store) => write(exported(store, options))));

/** The reader has seen events that this log lacks. An empty export, or one of later events, would hide that. */
const beyond = (seen: number, end: number): Error =>
  new Error(
    `the log ends at position ${end}, before ${seen}: it is a different log from the one that you read, or was restored from an older backup`,
  );

async function* exported(store: Store, options: Options): AsyncGenerator<string | Uint8Array> {
  const { FORMATS: formats } = await import('../../audit/formats/formats.ts');
  const format = formats[options.format];
  const encode = options.public ? format.encodePublic : format.encode;
  const { from = Number.NEGATIVE_INFINITY } = options;
  for await (const events of since(from, eventsOf(store, options))) yield encode(events);
}

async function* eventsOf(
  store: Store,
  { after, from, owner, id, follow }: Options,
): AsyncGenerator<readonly LoggedEvent[]> {
  const seen = from === undefined ? after : await positionBefore(store, from);
  const to = await endAfter(store, seen);
  if (owner === undefined && id === undefined)
    // Whoever follows the log hears of each erasure behind what it removes.
    yield* follow ? followed(store, seen) : evenIfChanged(exportedEvents(store, seen, to));
  else if (owner !== undefined && !follow) yield* eventsOfOwner(store, { to, owner, id }, seen);
  else {
    const all = follow ? followed(store, seen) : intactRange(store, seen, to);
    for await (const { events } of selectedEvents(store, { owner, id }, all)) yield events;
  }
}

/** The position of the log's end. Rejects if what a reader has seen is beyond it. */
async function endAfter(store: Store, seen: number): Promise<number> {
  const { position } = await store.head();
  if (seen > position) throw beyond(seen, position);
  return position;
}

/** The events as the store has them: a damaged log is rescued so. Rejects behind them if a content was changed. */
async function* evenIfChanged(batches: AsyncIterable<readonly LoggedEvent[]>): AsyncGenerator<readonly LoggedEvent[]> {
  let changed: LoggedEvent | undefined;
  for await (const events of batches) {
    changed ??= events.find((event) => !isIntact(event));
    yield events;
  }
  if (changed !== undefined) verifyContent(changed);
}

/** The events after a position, and new ones for ever. */
async function* followed(store: Store, after: number): AsyncGenerator<readonly LoggedEvent[]> {
  for (let seen = after; ; await sleep(POLL_INTERVAL)) {
    const to = await endAfter(store, seen);
    if (to > seen) yield* intactRange(store, seen, to);
    seen = to;
  }
}
