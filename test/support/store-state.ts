import type { RunningService } from './running-service.ts';

/**
 * What a service says of its store: `/readyz` to a load balancer, without the time and the log's id, and some of its
 * metrics. `gauges`: the names of the metrics, without `plantstore_`, under the names that the result has for them.
 */
export async function storeState(service: RunningService, gauges: Readonly<Record<string, string>>): Promise<unknown> {
  const readyz = await fetch(`${service.adminUrl}/readyz`);
  const { dependencies } = (await readyz.json()) as { dependencies: { name: string; since?: string; log?: string }[] };
  const { since: _, log: __, ...store } = dependencies.find(({ name }) => name === 'store')!;
  const metrics = await service.metrics();
  const values = Object.entries(gauges).map(([key, name]) => [
    key,
    metrics.get(`plantstore_${name}`)?.samples[0]?.value.toString(),
  ]);
  return { status: readyz.status, store, ...Object.fromEntries(values) };
}
