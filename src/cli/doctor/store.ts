import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import { BrokenChainError, headAt, verifyNext } from '../../log/event/chain.ts';
import { EMPTY_HEAD, type Head } from '../../log/event/event.ts';
import { type HeldLease, type Inspection, isHeld } from '../../log/inspection.ts';
import { inspectSqlite } from '../../log/sqlite/inspect.ts';
import { LONGEST_LEASE, LostRecordError, type Store } from '../../log/store.ts';
import { intactRange } from '../../log/whole-range.ts';
import { withStore } from '../with-store.ts';
import { BROKEN_LOG, type Finding, fail, lasting, ok, reasonOf, warn } from './finding.ts';
import { isListening } from './service.ts';

/** Milliseconds within which a busy projector normally makes progress. */
const WAIT = 2_000;
/** Difference of two clocks in milliseconds: above the first deserves a warning, above the second is a fault. */
const CLOCK_OFF = 1_000;
const CLOCK_WRONG = 60_000;

/** The findings on a store, and the head of its log for other examinations. Undefined if the log is unreadable. */
export interface ExaminedStore {
  readonly findings: readonly Finding[];
  readonly head: Head | undefined;
}

/** Examines the store that the settings name: access, schema, log, read model, leases and clocks. */
export async function examineStore(config: Config): Promise<ExaminedStore> {
  const where = config.mongodbUri === undefined ? `SQLite in ${config.dataDirectory}` : 'MongoDB';
  try {
    const inspection = await inspect(config);
    return await withStore('read', async (store) => {
      const head = await store.head();
      const findings = [
        ok('store', `${where} is readable; the log ends at position ${head.position}`),
        schemaFinding(inspection),
        await logFinding(store, head),
        await readModelFinding(store, head, inspection.leases),
        ...(await leaseFindings(inspection.leases)),
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

/** Verifies that the log has its id and, as a start does, that the events after the checkpoint continue the log. */
async function logFinding(store: Store, head: Head): Promise<Finding> {
  const after = Math.min(await store.checkpoint(), head.position);
  let last = EMPTY_HEAD;
  try {
    await store.logId();
    for await (const events of intactRange(store, Math.max(after - 1, 0), head.position))
      for (const event of events) {
        if (event.position > after) verifyNext(last, event);
        last = headAt(event);
      }
  } catch (error) {
    if (error instanceof BrokenChainError) return fail('log', `${error.message}: ${BROKEN_LOG}`);
    if (error instanceof LostRecordError) return fail('log', error.message);
    throw error;
  }
  const newest = head.position - after;
  const whole =
    newest === 0
      ? 'no event is newer than the read model'
      : `the last ${newest} events, which the read model lacks, are whole`;
  return ok('log', `${whole}; plantstore audit verify examines the whole log`);
}

async function readModelFinding(store: Store, head: Head, leases: readonly HeldLease[]): Promise<Finding> {
  const before = await store.checkpoint();
  const subject = 'read model';
  if (before > head.position && before > (await store.head()).position)
    return fail(
      subject,
      `it has reached position ${before}, but the log ends before that and has lost events: restore another backup, or continue without them: plantstore audit export, then audit import into an empty store`,
    );
  if (before >= head.position) return ok(subject, 'it is at the end of the log');
  await sleep(WAIT);
  const after = await store.checkpoint();
  const behind = `${head.position - after} events behind position ${head.position}`;
  if (after >= head.position) return ok(subject, `it has reached position ${head.position}`);
  if (after > before) return ok(subject, `${behind} and catching up`);
  if (leases.some((lease) => lease.name === 'projector' && isHeld(lease)))
    return fail(
      subject,
      `${behind} and makes no progress: see the log of the service; run plantstore audit verify, then audit rebuild`,
    );
  // An instance on a full disk cannot take the lease either.
  return warn(
    subject,
    `${behind}; no instance has the lease to update it: the next to start takes it; if one runs, its log says why it cannot`,
  );
}

async function leaseFindings(leases: readonly HeldLease[]): Promise<Finding[]> {
  const held = leases.filter(({ left }) => left > 0);
  return held.length === 0 ? [ok('leases', 'none is held')] : Promise.all(held.map(leaseFinding));
}

async function leaseFinding({ name, holder, left, address }: HeldLease): Promise<Finding> {
  const message = `${name} is held by ${holder} for ${lasting(left)} more`;
  if (left > LONGEST_LEASE)
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
      `the last event's time is ${lasting(logAhead)} ahead of this clock: new events repeat that time until the clock reaches it; run NTP on every host`,
    );
  if (databaseAhead === undefined) return ok('clock', 'it is not behind the log');
  const off = `this clock is ${lasting(databaseAhead)} ${databaseAhead > 0 ? 'behind' : 'ahead of'} the database's`;
  if (Math.abs(databaseAhead) > CLOCK_WRONG) return fail('clock', `${off}: set it, and run NTP`);
  return Math.abs(databaseAhead) > CLOCK_OFF ? warn('clock', `${off}: run NTP`) : ok('clock', off);
}
