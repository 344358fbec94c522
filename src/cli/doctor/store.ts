import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import type { Head } from '../../log/event/event.ts';
import { type HeldLease, type Inspection, isHeld } from '../../log/inspection.ts';
import { inspectSqlite } from '../../log/sqlite/inspect.ts';
import { DATABASE_FILE } from '../../log/sqlite/store.ts';
import { withStore } from '../with-store.ts';
import { type Finding, fail, ok, reasonOf, warn } from './finding.ts';
import { isListening } from './reach.ts';

/** Difference of two clocks in milliseconds: above the first deserves a warning, above the second is a fault. */
const CLOCK_OFF = 1_000;
const CLOCK_WRONG = 60_000;

/** What to do where there is no store. */
const FIRST_START = '; the first start of the service makes one; if it has run before, correct DATA_DIR';

/** Examines the store that the settings name: access, schema, leases and clocks. */
export async function examineStore(config: Config): Promise<Finding[]> {
  const where = config.mongodbUri === undefined ? `SQLite in ${config.dataDirectory}` : 'MongoDB';
  try {
    const inspection = await inspect(config);
    return await withStore('read', async (store) => {
      // Rejects if somebody has removed the log's id.
      await store.logId();
      const [checkpoint, head] = [await store.checkpoint(), await store.head()];
      return [
        ok('store', `${where} is readable; the log ends at position ${head.position}, the read model at ${checkpoint}`),
        schemaFinding(inspection),
        ...(await leaseFindings(inspection.leases)),
        clockFinding(inspection.clockAhead, head),
      ];
    });
  } catch (error) {
    return [fail('store', `${where}: ${reasonOf(error)}${isMissing(config) ? FIRST_START : ''}`)];
  }
}

/** Whether the settings name an embedded store that is not there. */
function isMissing({ mongodbUri, dataDirectory }: Config): boolean {
  try {
    return (
      mongodbUri === undefined && statSync(join(dataDirectory, DATABASE_FILE), { throwIfNoEntry: false }) === undefined
    );
  } catch {
    return false;
  }
}

async function inspect({ mongodbUri, dataDirectory }: Config): Promise<Inspection> {
  if (mongodbUri !== undefined) {
    const { inspectMongo } = await import('../../log/mongo/inspect.ts');
    return inspectMongo(mongodbUri);
  }
  // Its error names what is missing more clearly than the database's.
  await withStore('read', async () => {});
  return inspectSqlite(dataDirectory);
}

function schemaFinding({ schema, missing }: Inspection): Finding {
  if (missing.length > 0)
    return fail(
      'schema',
      `the database lacks ${missing.join(', ')}, which somebody dropped: run plantstore audit verify; then restore a backup, or plantstore audit export the log, and audit import it into an empty store`,
    );
  return ok('schema', `version ${schema}, that of this release`);
}

async function leaseFindings(leases: readonly HeldLease[]): Promise<Finding[]> {
  const held = leases.filter(({ left }) => left > 0);
  return held.length === 0 ? [ok('leases', 'none is held')] : Promise.all(held.map(leaseFinding));
}

async function leaseFinding({ name, holder, left, address }: HeldLease): Promise<Finding> {
  const message = `${name} is held by ${holder} for ${durationText(left)} more`;
  if (!isHeld({ name, holder, left }))
    return warn('leases', `${message}, because a clock was wrong; instances treat it as expired`);
  if (address !== undefined && !(await isListeningAt(address)))
    return warn(
      'leases',
      `${message}, but nothing can be reached at its address ${address} from here: other instances need to; check its ADVERTISE_ADDRESS and the network`,
    );
  return ok('leases', message);
}

function isListeningAt(address: string): Promise<boolean> {
  const { host = '', port } = /^\[?(?<host>.*?)\]?:(?<port>\d+)$/.exec(address)?.groups ?? {};
  return isListening(host, Number(port));
}

function clockFinding(databaseAhead: number | undefined, head: Head): Finding {
  const logAhead = head.time - Date.now();
  if (logAhead > CLOCK_OFF)
    return warn(
      'clock',
      `the last event's time is ${durationText(logAhead)} ahead of this clock: new events repeat that time until the clock reaches it; run NTP on every host`,
    );
  if (databaseAhead === undefined) return ok('clock', 'it is not behind the log');
  const off = `this clock is ${durationText(databaseAhead)} ${databaseAhead > 0 ? 'behind' : 'ahead of'} the database's`;
  if (Math.abs(databaseAhead) > CLOCK_WRONG) return fail('clock', `${off}: set it, and run NTP`);
  return Math.abs(databaseAhead) > CLOCK_OFF ? warn('clock', `${off}: run NTP`) : ok('clock', off);
}

/** A duration in milliseconds as text for people. */
function durationText(milliseconds: number): string {
  const seconds = Math.abs(milliseconds) / 1_000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}
