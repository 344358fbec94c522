import { Command, InvalidArgumentError } from 'commander';
import { eventJson, headJson } from '../audit/event-json.ts';
import { loadConfig } from '../config.ts';
import { openSqlite } from '../log/sqlite/store.ts';
import type { Store } from '../log/store.ts';
import { print } from './output.ts';

/** `plantstore audit` */
export const auditCommand = (): Command =>
  new Command('audit')
    .description('Read the log of events. Works while the service runs, and changes nothing.')
    .addCommand(exportCommand())
    .addCommand(headCommand());

const exportCommand = (): Command =>
  new Command('export')
    .description('Print the log in the order of positions, one event a line, as JSON (NDJSON).')
    .option('--after <position>', 'only the events after this position', position, 0)
    .addHelpText(
      'after',
      `
One line, broken here to be read:
  {"position":1,"eventId":"...","time":"2026-01-02T03:04:05.678Z",
   "type":"PlantAdded","owner":"alice","actor":"alice","plantId":7,
   "name":"Fern","tag":"indoor","hash":"..."}
plantId may be any int64 and is exact. An unset tag is left out; PlantDeleted
has neither name nor tag. The hash covers the event and the hash before it.

Examples:
  $ plantstore audit export > log.ndjson
  $ plantstore audit export --after 1000 | head -n 5`,
    )
    .action(({ after }: { after: number }) => withStore((store) => print(eventLines(store, after))));

const headCommand = (): Command =>
  new Command('head')
    .description(
      'Print the position, hash and time of the last event. Whoever keeps them can tell later whether the log was changed.',
    )
    .addHelpText(
      'after',
      `
An empty log has position 0.

Example:
  $ plantstore audit head
  {"position":42,"hash":"...","time":"2026-01-02T03:04:05.678Z"}`,
    )
    .action(() => withStore(async (store) => print([headJson(await store.head())])));

function position(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('Expected a position: a whole number, 0 or above.');
  return value;
}

async function withStore(work: (store: Store) => Promise<void>): Promise<void> {
  const { mongodbUri, dataDirectory } = loadConfig();
  if (mongodbUri !== undefined) throw new Error('MONGODB_URI is set, and this release does not have it yet; unset it');
  const store = openSqlite(dataDirectory, { readOnly: true });
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

async function* eventLines(store: Store, after: number): AsyncGenerator<string> {
  for await (const events of store.read(after)) yield events.map(eventJson).join('\n');
}
