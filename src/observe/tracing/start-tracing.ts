import type { Logger } from '../logger.ts';
import type { Tracing } from './tracing.ts';

/**
 * Starts OpenTelemetry, which reads its own settings (OTEL_*); `serviceName` overrides them. Loaded on demand, so that
 * it costs nothing while traces are off.
 */
export async function startTracing(logger: Logger, serviceName: string | undefined): Promise<Tracing> {
  const { OpenTelemetry } = await import('./opentelemetry.ts');
  return new OpenTelemetry(logger, serviceName);
}
