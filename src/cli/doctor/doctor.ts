import type { Config } from '../../config.ts';
import { examineFiles } from './files.ts';
import type { Finding } from './finding.ts';
import { examineIssuer, examineService } from './service.ts';
import { examineStore } from './store.ts';
import { examineWitnesses } from './witnesses.ts';

/** Examines everything that the settings name. Changes nothing, and works while the service runs. */
export async function* examine(config: Config): AsyncGenerator<Finding> {
  const { findings, head } = await examineStore(config);
  yield* findings;
  yield* await examineFiles(config);
  yield await examineIssuer(config.issuer);
  if (config.witnesses !== undefined) yield* await examineWitnesses(config, config.witnesses);
  if (config.kafka !== undefined) {
    // Loads Kafka's client only if the settings name Kafka.
    const { examineKafka } = await import('./kafka.ts');
    yield* await examineKafka(config.kafka, head?.position);
  }
  yield* await examineService(config);
}
