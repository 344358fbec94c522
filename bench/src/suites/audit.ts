import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { plantsAsOf } from '../../../src/audit/as-of.ts';
import { FORMATS } from '../../../src/audit/formats.ts';
import { importLog } from '../../../src/audit/import.ts';
import { rebuildReadModel } from '../../../src/audit/rebuild.ts';
import { verifyLog } from '../../../src/audit/verify.ts';
import { headAt, seal } from '../../../src/log/chain.ts';
import { EMPTY_HEAD, type LoggedEvent } from '../../../src/log/event.ts';
import { DATABASE_FILE, openSqlite } from '../../../src/log/sqlite/store.ts';
import { type Effort, median } from '../compare.ts';
import type { Bench } from '../resources.ts';

const EVENTS = 1_000_000;
const OWNERS = 1_000;
/** Events read at once: what the store itself does. */
const PAGE = 500;

/** A long log in batches: four plants added, then the first of them deleted, for a thousand owners in turns. */
async function* events(count: number): AsyncGenerator<LoggedEvent[]> {
  let head = EMPTY_HEAD;
  for (let from = 0; from < count; from += PAGE)
    yield Array.from({ length: PAGE }, (_, index) => {
      const number = from + index;
      const isDeleted = number % 5 === 4;
      const owner = `owner ${Math.floor(number / 5) % OWNERS}`;
      const plantId = BigInt(isDeleted ? number - 4 : number) * 1_000_003n;
      const about = { owner, actor: owner, plantId };
      const event = isDeleted
        ? { type: 'PlantDeleted' as const, ...about }
        : {
            type: 'PlantAdded' as const,
            ...about,
            name: `Plant number ${number}`,
            tag: number % 2 ? 'indoor' : undefined,
          };
      const sealed = seal(head, event, crypto.randomUUID(), Date.now());
      head = headAt(sealed);
      return sealed;
    });
}

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

/** The rows of the same events as the driver gives them, a page at a time: the limit. */
function readRaw(directory: string): void {
  const db = new DatabaseSync(join(directory, DATABASE_FILE), { readOnly: true });
  const page = db.prepare('SELECT * FROM events WHERE position > ? ORDER BY position LIMIT ?');
  page.setReadBigInts(true);
  for (let after = 0n; ; ) {
    const rows = page.all(after, PAGE);
    if (rows.length === 0) break;
    after = rows.at(-1)!.position as bigint;
  }
  db.close();
}

/** What the audit does with a million events in the embedded store, beside the raw cursor over the same rows. */
export async function audit(bench: Bench, { rounds }: Effort): Promise<void> {
  const directory = bench.directory();
  const store = await openSqlite(directory);
  bench.defer(() => store.close());
  const peak = watchMemory(bench);
  const imported = await rate(() => drain(importLog(store, events(EVENTS))));

  const raw: number[] = [];
  const rates = new Map<string, number[]>();
  const work: Record<string, () => Promise<void>> = {
    'export, NDJSON': async () => {
      for await (const batch of store.read(0)) FORMATS.ndjson.encode(batch);
    },
    'export, protobuf': async () => {
      for await (const batch of store.read(0)) FORMATS.protobuf.encode(batch);
    },
    verify: () => drain(verifyLog(store)),
    'list of one owner as of now': async () => drain((await plantsAsOf(store, undefined, 'owner 7')).plants),
    'list of all owners as of now': async () => drain((await plantsAsOf(store, undefined, undefined)).plants),
    rebuild: () => drain(rebuildReadModel(store)),
  };
  for (let round = 0; round < rounds; round++) {
    raw.push(await rate(async () => readRaw(directory)));
    for (const [name, run] of Object.entries(work)) rates.set(name, [...(rates.get(name) ?? []), await rate(run)]);
  }
  console.log(`\naudit of ${EVENTS.toLocaleString('en')} events in the embedded store, ${rounds} rounds in turns`);
  console.log(`  import, made and verified: ${imported.toFixed(0)}/s`);
  console.log(line('raw cursor', raw, raw));
  for (const [name, all] of rates) console.log(line(name, all, raw));
  console.log(`  most memory of the process (RSS): ${peak().toFixed(0)} MB`);
}

async function rate(run: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await run();
  return EVENTS / ((performance.now() - started) / 1_000);
}

const line = (name: string, rates: readonly number[], raw: readonly number[]): string =>
  `  ${name.padEnd(34)}${median(rates).toFixed(0).padStart(8)}/s   ratio ${median(rates.map((each, round) => each / raw[round]!)).toFixed(2)}`;
