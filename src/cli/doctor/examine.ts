import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { openReader } from '../../log/sqlite/connection.ts';
import { checkObjects } from '../../log/sqlite/schema.ts';
import { DATABASE_FILE } from '../../log/sqlite/store.ts';
import type { Store } from '../../log/store.ts';
import { defaultOrigin } from '../../transparency/log-key.ts';
import { whyNotTheSignedLog } from '../../transparency/signed-checkpoint.ts';
import { withStore } from '../with-store.ts';
import { examineFiles } from './files.ts';
import { type Finding, fail, ok, reasonOf, warn } from './finding.ts';
import { examineIssuer, examineKafka, examineService, examineWitnesses } from './reach.ts';

/** Examines everything that the settings name. Changes nothing, and works while the service runs. */
export async function* examine(config: Config): AsyncGenerator<Finding> {
  const { findings, log } = await examineStore(config);
  yield* findings;
  yield* await examineFiles(config);
  yield await examineIssuer(config.issuer);
  const origin = config.logOrigin ?? (log && defaultOrigin(log));
  if (config.witnesses !== undefined) yield* await examineWitnesses(config.witnesses, origin);
  if (config.kafka !== undefined) yield await examineKafka(config.kafka);
  yield* await examineService(config, log);
}

/** Examines whether the store that the settings name can be read. `log`: the id of its log, if it can. */
async function examineStore(config: Config): Promise<{ readonly findings: Finding[]; readonly log?: string }> {
  const where = config.mongodbUri === undefined ? `SQLite in ${config.dataDirectory}` : 'MongoDB';
  try {
    return await withStore('read', async (store) => {
      // Rejects if somebody has removed the log's id.
      const log = await store.logId();
      if (config.mongodbUri === undefined) checkDatabase(join(config.dataDirectory, DATABASE_FILE));
      // On MongoDB that is what is gone; of a file it would read all.
      const fault = config.mongodbUri === undefined ? undefined : await store.fault();
      if (fault !== undefined)
        return { findings: [fail('store', `${store.name}: ${fault.message}; run plantstore audit verify`)], log };
      const [checkpoint, { position }] = [await store.checkpoint(), await store.head()];
      const ends = `the log ends at position ${position}, the read model at ${checkpoint}`;
      if (checkpoint > position) return { findings: [fail('store', `${ends}: the log has lost events`)], log };
      const other = await whyNotTheSignedLog(config.dataDirectory, store.name, position);
      if (other !== undefined) return { findings: [fail('store', other)], log };
      return { findings: [ok('store', `${store.name} is readable; ${ends}`), ...(await rightsOf(store))], log };
    });
  } catch (error) {
    return { findings: [fail('store', `${where}: ${reasonOf(error)}`)] };
  }
}

/** Examines whether the user of the database may do what the service does. Says nothing if it may. */
async function rightsOf(store: Store): Promise<Finding[]> {
  const { service, erasure } = await store.missingRights();
  if (service.length > 0)
    return [
      fail('store', `the database user may not ${service.join(', ')}: give it the role of docs/mongodb.md, "Users"`),
    ];
  if (erasure.length === 0) return [];
  const message = `the database user may not ${erasure.join(', ')}, so only another one can erase owners`;
  return [warn('store', `${message}: run plantstore erase with a user who may, or grant it (docs/erasure.md)`)];
}

/** Throws if a start would refuse the database for its schema, as reads do not. */
function checkDatabase(path: string): void {
  using db = openReader(path);
  checkObjects(db, path);
}
