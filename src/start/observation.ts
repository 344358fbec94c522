import type { Config } from '../config.ts';
import type { OpenedLog } from '../log/open.ts';
import { startAdminServer } from '../observe/admin.ts';
import type { Health } from '../observe/health.ts';
import type { LogOutput } from '../observe/log-output.ts';
import type { Logger } from '../observe/logger.ts';
import type { OwnerHashes } from '../observe/request-log.ts';
import { createTelemetry, type Telemetry } from '../observe/telemetry.ts';
import type { Tracing } from '../observe/tracing/tracing.ts';
import { lineGauges } from './gauges.ts';

/** What reports on the service. */
export interface Observation {
  /** Undefined when the settings ask for no traces. */
  readonly tracing: Tracing | undefined;
  readonly telemetry: Telemetry;
  /** The URL of the probes and metrics. */
  readonly adminUrl: string;
}

/** Starts the traces, the metrics, and the port of the probes, which answers from here to the end. */
export async function startObserving(
  config: Config,
  logger: Logger,
  health: Health,
  output: LogOutput,
  owners: OwnerHashes,
  opened: AsyncDisposableStack,
): Promise<Observation> {
  const tracing = config.tracing && (await startTracing(logger, config.tracing.serviceName));
  if (tracing) opened.defer(() => tracing.close());
  const telemetry = createTelemetry(logger, owners, tracing);
  health.set('store', () => telemetry.store.readiness);
  lineGauges(telemetry.metrics, output);
  const admin = await startAdminServer(health, config.adminHost, config.adminPort, telemetry.metrics);
  opened.defer(() => admin.close());
  return { tracing, telemetry, adminUrl: admin.url };
}

/**
 * Starts OpenTelemetry, which reads its own settings (OTEL_*); `serviceName` overrides them. Loaded on demand, so that
 * it costs nothing while traces are off.
 */
async function startTracing(logger: Logger, serviceName: string | undefined): Promise<Tracing> {
  const { OpenTelemetry } = await import('../observe/tracing/opentelemetry.ts');
  return new OpenTelemetry(logger, serviceName);
}

/** Milliseconds until a failed read of the key is repeated. */
const RETRY = 5_000;

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
      if (number === reads) setTimeout(read, RETRY).unref();
    }
  };
  log.onErased(read);
  await read();
}
