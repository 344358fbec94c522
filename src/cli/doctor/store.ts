import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import type { Head } from '../../log/event/event.ts';
import type { HeldLease, Inspection } from '../../log/inspection.ts';
import { inspectSqlite } from '../../log/sqlite/inspect.ts';
import type { Store } from '../../log/store.ts';
import { withStore } from '../with-store.ts';
import { type Finding, fail, lasting, ok, reasonOf, warn } from './finding.ts';

/** Milliseconds in which a projector that has work moves on, as a rule. */
const WAIT = 2_000;
/** Milliseconds that a lease lasts at most; one that lasts longer was taken by a clock that was wrong. */
const LONGEST_LEASE = 60_000;
/** Milliseconds between two clocks that a command does not notice, and those that make time in the log stand still. */
const CLOCK_OFF = 1_000;
const CLOCK_WRONG = 60_000;

/** What the examination of a store tells others: the log's end, if there is a log. */
export interface ExaminedStore {
  readonly findings: readonly Finding[];
  readonly head: Head | undefined;
}

/** Examines the store that the settings name: reachable, suitable, its schema, the read model, leases, leftovers and clocks. */
export async function examineStore(config: Config): Promise<ExaminedStore> {
  const where = config.mongodbUri === undefined ? `SQLite in ${config.dataDirectory}` : 'MongoDB';
  try {
    const inspection = await inspect(config);
    return await withStore('read', async (store) => {
      const head = await store.head();
      const findings = [
        ok('store', `${where} can be read; the log ends at position ${head.position}`),
        schemaFinding(inspection),
        await readModelFinding(store, head, inspection.leases),
        ...leaseFindings(inspection.leases),
        leftoversFinding(inspection.leftovers, config.mongodbUri === undefined),
        clockFinding(inspection.clockAhead, head),
      ];
      return { findings, head };
    });
  } catch (error) {
    return { findings: [fail('store', `${where}: ${reasonOf(error)}`)], head: undefined };
  }
}

async function inspect({ mongodbUri, dataDirectory }: Config): Promise<Inspection> {
  if (mongodbUri !== undefined) {
    const { inspectMongo } = await import('../../log/mongo/inspect.ts');
    return inspectMongo(mongodbUri);
  }
  // Says more plainly what is missing than the database does.
  await withStore('read', async () => {});
  return inspectSqlite(dataDirectory);
}

function schemaFinding({ schema: { found, known }, missing }: Inspection): Finding {
  if (missing.length > 0)
    return fail('schema', `the database lacks ${missing.join(', ')}: somebody dropped it; restore from a backup`);
  if (found < known) return warn('schema', `version ${found}; the next start makes it ${known}: back up first`);
  return ok('schema', `version ${found}, which is this release's`);
}

async function readModelFinding(store: Store, head: Head, leases: readonly HeldLease[]): Promise<Finding> {
  const before = await store.checkpoint();
  const subject = 'read model';
  if (before > head.position && before > (await store.head()).position)
    return fail(subject, `it has seen position ${before}, which the log has lost: restore the log from a backup`);
  if (before >= head.position) return ok(subject, 'it stands at the end of the log');
  await sleep(WAIT);
  const after = await store.checkpoint();
  const behind = `${head.position - after} events behind position ${head.position}`;
  if (after >= head.position) return ok(subject, `it has reached position ${head.position}`);
  if (after > before) return ok(subject, `${behind}, and catching up`);
  if (leases.some(({ name, left }) => name === 'projector' && left > 0))
    return fail(subject, `${behind}, and does not move: see the service's log; plantstore audit verify, audit rebuild`);
  return warn(subject, `${behind}; no instance works on it, and the next that starts will`);
}

function leaseFindings(leases: readonly HeldLease[]): Finding[] {
  const held = leases.filter(({ left }) => left > 0);
  if (held.length === 0) return [ok('leases', 'nobody has one, so no instance is running')];
  return held.map(({ name, holder, left }) =>
    left > LONGEST_LEASE
      ? warn('leases', `${name} is ${holder}'s for ${lasting(left)} more: a clock was wrong; it counts as over`)
      : ok('leases', `${name} is ${holder}'s for ${lasting(left)} more`),
  );
}

function leftoversFinding(leftovers: readonly string[], isSqlite: boolean): Finding {
  if (leftovers.length === 0) return ok('leftovers', 'no rebuild has left rows behind');
  const remedy = isSqlite ? 'plantstore audit rebuild drops them' : `in mongosh: db.${leftovers[0]}.drop()`;
  return warn('leftovers', `a rebuild that was ended has left ${leftovers.join(', ')}, which nobody reads: ${remedy}`);
}

function clockFinding(databaseAhead: number | undefined, head: Head): Finding {
  const logAhead = head.time - Date.now();
  if (logAhead > CLOCK_OFF)
    return warn(
      'clock',
      `the last event's time is ${lasting(logAhead)} ahead of this clock: time in the log stands still until then; run NTP on every host`,
    );
  if (databaseAhead === undefined) return ok('clock', 'it is not behind the log');
  const off = `this clock is ${lasting(databaseAhead)} ${databaseAhead > 0 ? 'behind' : 'ahead of'} the database's`;
  if (Math.abs(databaseAhead) > CLOCK_WRONG) return fail('clock', `${off}: set it, and run NTP`);
  return Math.abs(databaseAhead) > CLOCK_OFF ? warn('clock', `${off}: run NTP`) : ok('clock', off);
}
