import type { Config } from '../../config.ts';
import { defaultOrigin } from '../../transparency/log-key.ts';
import { examineFiles } from './files.ts';
import type { Finding } from './finding.ts';
import { examineIssuer, examineKafka, examineService, examineWitnesses } from './reach.ts';
import { examineStore } from './store.ts';

/** Examines everything that the settings name. Changes nothing, and works while the service runs. */
export async function* examine(config: Config): AsyncGenerator<Finding> {
  const { finding, log } = await examineStore(config);
  yield finding;
  yield* await examineFiles(config);
  yield await examineIssuer(config.issuer);
  const origin = config.logOrigin ?? (log && defaultOrigin(log));
  if (config.witnesses !== undefined) yield* await examineWitnesses(config.witnesses, origin);
  if (config.kafka !== undefined) yield await examineKafka(config.kafka);
  yield* await examineService(config, log);
}
