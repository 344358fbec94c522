import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { positionBefore } from '../../audit/fold/as-of.ts';
import type { FORMATS } from '../../audit/formats/formats.ts';
import { eventsOfOwner, exportedEvents, steadyRange } from '../../audit/steady.ts';
import { type LoggedEvent, plantEventOf } from '../../log/event/event.ts';
import type { Store } from '../../log/store.ts';
import { wholeRange } from '../../log/whole-range.ts';
import { plantId, position, time } from '../arguments.ts';
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
const POLL = 100;

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
    .option('--owner <name>', 'only events of this owner')
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
export again.
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
  for await (const events of eventsOf(store, options)) yield encode(events);
}

async function* eventsOf(
  store: Store,
  { after, from, owner, id, follow }: Options,
): AsyncGenerator<readonly LoggedEvent[]> {
  let seen = from === undefined ? after : await positionBefore(store, from);
  do {
    const { position: to } = await store.head();
    if (seen > to) throw beyond(seen, to);
    if (seen === to) continue;
    // Of the events of one owner or plant, nobody can tell that one is missing.
    if (owner !== undefined) yield* eventsOfOwner(store, { to, owner, id }, seen);
    else if (id !== undefined) yield* ofPlants(id, steadyRange(store, seen, to));
    // Whoever follows the log hears of each erasure behind what it removes.
    else yield* follow ? wholeRange(store, seen, to) : exportedEvents(store, seen, to);
    seen = to;
  } while (follow && (await sleep(POLL, true)));
}

/** The events of plants with this id, whoever owns them. */
async function* ofPlants(
  id: bigint,
  batches: AsyncIterable<readonly LoggedEvent[]>,
): AsyncGenerator<readonly LoggedEvent[]> {
  for await (const events of batches) yield events.filter((event) => plantEventOf(event)?.plantId === id);
}
