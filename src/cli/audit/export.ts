import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { positionAt } from '../../audit/fold/as-of.ts';
import { FORMATS } from '../../audit/formats/formats.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import type { Store } from '../../log/store.ts';
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

/** Milliseconds between two looks for new events. */
const POLL = 100;

/** `plantstore audit export` */
export const exportCommand = (): Command =>
  new Command('export')
    .description('Print the log in the order of positions, one event a line, as JSON (NDJSON).')
    .option('--after <position>', 'only the events after this position', position, 0)
    .addOption(new Option('--from <time>', 'only the events of this time and later').argParser(time).conflicts('after'))
    .option('--owner <name>', "only this owner's events")
    .option('--id <id>', 'only the events of plants with this id', plantId)
    .option('--follow', 'go on with new events until it is stopped')
    .option('--public', 'the events alone, without what they say: names nobody, may be shown to anybody')
    .addOption(
      new Option(
        '--format <format>',
        'protobuf: plantstore.v1.Record messages (public: Event), each with its length before it',
      )
        .choices(Object.keys(FORMATS))
        .default('ndjson'),
    )
    .addHelpText(
      'after',
      `
One line, broken here to be read:
  {"position":1,"eventId":"...","time":"2026-01-02T03:04:05.678Z",
   "type":"PlantAdded","owner":"alice","actor":"alice","plantId":7,
   "name":"Fern","tag":"indoor","salt":"...","hash":"..."}
plantId may be any int64 and is exact. An unset tag is left out; PlantDeleted
has neither name nor tag. What was erased has a commitment and erasedBy, the
position of its OwnerErased, in place of what it said. The hash covers the event and the hash before it.
After a break, --after with the last position goes on where it was. It fails
where the log ends before that position, with --follow too, also later.

Examples:
  $ plantstore audit export > log.ndjson
  $ plantstore audit export --public > events.ndjson
  $ plantstore audit export --after 1000 | head -n 5
  $ plantstore audit export --from 2026-01-02T03:04:05Z --owner alice --follow`,
    )
    .action((options: Options) => withStore('read', (store) => write(exported(store, options))));

/** Whoever resumes there has seen events that this log does not have: to print nothing, or what comes later, would hide it. */
const beyond = (seen: number, end: number): Error =>
  new Error(
    `the log ends at position ${end}, before ${seen}: it is another log than the one that was read up to there, or was restored from a backup`,
  );

async function* exported(store: Store, options: Options): AsyncGenerator<string | Uint8Array> {
  const format = FORMATS[options.format];
  const encode = options.public ? format.encodePublic : format.encode;
  for await (const events of eventsOf(store, options)) yield encode(events);
}

async function* eventsOf(store: Store, { after, from, owner, id, follow }: Options): AsyncGenerator<LoggedEvent[]> {
  let seen = from === undefined ? after : await positionAt(store, from - 1);
  do {
    const { position: to } = await store.head();
    if (seen > to) throw beyond(seen, to);
    yield* store.read(seen, { to, owner, id });
    seen = to;
  } while (follow && (await sleep(POLL, true)));
}
