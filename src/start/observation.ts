import type { Config } from '../config.ts';
import { startAdminServer } from '../observe/admin.ts';
import type { Health } from '../observe/health.ts';
import type { LogOutput } from '../observe/log-output.ts';
import type { Logger } from '../observe/logger.ts';
import type { OwnerHashes } from '../observe/owner-hashes.ts';
import { createTelemetry, type Telemetry } from '../observe/telemetry.ts';
import { startTracing } from '../observe/tracing/start-tracing.ts';
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
