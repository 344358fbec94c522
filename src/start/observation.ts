import type { Config } from '../config.ts';
import type { OpenedLog } from '../log/open.ts';
import { startAdminServer } from '../observe/admin.ts';
import type { Health } from '../observe/health.ts';
import type { LogOutput } from '../observe/log-output.ts';
import type { Logger } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics/metrics.ts';
import type { OwnerHashes } from '../observe/request-log.ts';
import { createTelemetry, type Telemetry } from '../observe/telemetry.ts';
import type { Tracing } from '../observe/tracing.ts';
import { VERSION } from '../observe/version.ts';
import { listening } from './start-error.ts';

/** Starts traces, if the settings ask for any, the metrics, and the port of the probes, which answers to the end. */
export async function startObserving(
  config: Config,
  logger: Logger,
  health: Health,
  output: LogOutput,
  owners: OwnerHashes,
  opened: AsyncDisposableStack,
): Promise<{ tracing: Tracing | undefined; telemetry: Telemetry; adminUrl: string }> {
  // OpenTelemetry reads its own settings (OTEL_*). Loaded on demand, so that it costs nothing while traces are off.
  const tracing =
    config.tracing && new (await import('../observe/tracing.ts')).Tracing(logger, config.tracing.serviceName);
  if (tracing) opened.defer(() => tracing.close());
  const telemetry = createTelemetry(logger, owners, tracing);
  health.set('store', () => telemetry.store.readiness);
  telemetry.metrics.total(
    'plantstore_log_lines_dropped_total',
    "Lines of the service's log that were dropped because stdout was not read in time.",
    () => output.dropped,
  );
  const { adminHost, adminPort } = config;
  const admin = await listening(['ADMIN_PORT', adminPort], ['ADMIN_HOST', adminHost], () =>
    startAdminServer(health, adminHost, adminPort, telemetry.metrics),
  );
  opened.defer(() => admin.close());
  return { tracing, telemetry, adminUrl: admin.url };
}

/** Milliseconds until a failed read of the key is repeated. */
const RETRY_PAUSE = 5_000;

/**
 * Reads the key with which log lines name owners, and reads it again after each erasure, which replaces it. Resolves
 * after the first attempt. Lines name nobody while the key cannot be read; each such fault goes to `onFault`.
 */
export async function followOwnerKey(
  owners: OwnerHashes,
  { store, log }: OpenedLog,
  onFault: (fault: unknown) => void,
): Promise<void> {
  let reads = 0;
  const read = async () => {
    const number = ++reads;
    owners.key = undefined;
    try {
      const key = await store.ownerKey();
      // A later read may have found a newer key.
      if (number === reads) owners.key = key;
    } catch (fault) {
      onFault(fault);
      if (number === reads) setTimeout(read, RETRY_PAUSE).unref();
    }
  };
  log.onErased(read);
  await read();
}

/** The state of an instance, for people. `time`: milliseconds since its start; rates follow from two reports. */
export const instanceReport = async (health: Health, metrics: Metrics) => ({
  version: VERSION,
  node: process.version,
  time: performance.now(),
  status: health.status,
  dependencies: health.dependencies(),
  metrics: await metrics.values(),
});
