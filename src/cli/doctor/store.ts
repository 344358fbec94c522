import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { counted } from '../../counted.ts';
import type { Head } from '../../log/event/event.ts';
import { openReader } from '../../log/sqlite/connection.ts';
import { checkObjects } from '../../log/sqlite/schema.ts';
import { DATABASE_FILE } from '../../log/sqlite/store.ts';
import type { Store } from '../../log/store.ts';
import { RESTORED } from '../../transparency/checkpoints.ts';
import { AUDIT_KEY_FILE, openLogKey } from '../../transparency/log-key.ts';
import { CHECKPOINT_FILE, readKept } from '../../transparency/signed-checkpoint.ts';
import { withStore } from '../with-store.ts';
import { type Finding, fail, ok, reasonOf, warn } from './finding.ts';

/** Milliseconds that the log may be ahead of this clock without a warning. */
const CLOCK_OFF = 1_000;

/** What to do where there is no store. */
const FIRST_START = '; the first start of the service makes one; if it has run before, correct DATA_DIR';

/** Examines the store that the settings name: whether it can be read, and whether its time is ahead of this clock. */
export async function examineStore(config: Config): Promise<Finding[]> {
  const where = config.mongodbUri === undefined ? `SQLite in ${config.dataDirectory}` : 'MongoDB';
  try {
    return await withStore('read', async (store) => {
      // Rejects if somebody has removed the log's id.
      await store.logId();
      if (config.mongodbUri === undefined) checkDatabase(join(config.dataDirectory, DATABASE_FILE));
      const [checkpoint, head] = [await store.checkpoint(), await store.head()];
      return [
        ok(
          'store',
          `${store.name} is readable; the log ends at position ${head.position}, the read model at ${checkpoint}`,
        ),
        clockFinding(head),
        ...(await keptFindings(config, store)),
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

/** Throws if a start would refuse the database for a trigger or an index that is gone, as reads do not. */
function checkDatabase(path: string): void {
  const db = openReader(path);
  try {
    checkObjects(db, path);
  } finally {
    db.close();
  }
}

/**
 * Whether the last checkpoint that was signed here is of this log, is no longer than it, and is of the key that would sign
 * now.
 */
async function keptFindings(config: Config, store: Store): Promise<Finding[]> {
  const path = join(config.dataDirectory, CHECKPOINT_FILE);
  const keyPath = join(config.dataDirectory, AUDIT_KEY_FILE);
  if (!existsSync(path)) return [];
  if (config.auditSigningKey === undefined && !existsSync(keyPath))
    return [warn('checkpoint', `the key that signed ${path} is gone: restore ${keyPath}, or set AUDIT_SIGNING_KEY`)];
  // A key that cannot be used is a finding of its own.
  const key = await openLogKey(config, store).catch(() => undefined);
  const kept = key && (await readKept(path, key.vkey));
  if (kept === undefined) return [];
  if (typeof kept === 'string') return [warn('checkpoint', kept)];
  // Read after what was signed: a service that runs may have signed more meanwhile.
  const { position } = await store.head();
  const signed = `a checkpoint of ${counted(kept.size, 'event')} was signed, and the log has ${position}`;
  return kept.size > position ? [fail('checkpoint', `${signed}: ${RESTORED}`)] : [];
}

function clockFinding({ time }: Head): Finding {
  const ahead = time - Date.now();
  if (ahead <= CLOCK_OFF) return ok('clock', 'it is not behind the log');
  return warn(
    'clock',
    `the last event's time is ${Math.round(ahead / 1_000)} s ahead of this clock: new events repeat that time until the clock reaches it; run NTP on every host`,
  );
}
