import type { Service } from './service.ts';

/**
 * What a service says of its store: `/readyz` to a load balancer, without the time, and some of its metrics. `gauges`:
 * the names of the metrics, without `plantstore_`, under the names that the result has for them.
 */
export async function storeState(
  { adminUrl }: Pick<Service, 'adminUrl'>,
  gauges: Readonly<Record<string, string>>,
): Promise<unknown> {
  const [readyz, metrics] = await Promise.all(['readyz', 'metrics'].map((path) => fetch(`${adminUrl}/${path}`)));
  const { dependencies } = (await readyz!.json()) as { dependencies: { name: string; since?: string }[] };
  const { since: _, ...store } = dependencies.find(({ name }) => name === 'store')!;
  const text = await metrics!.text();
  const values = Object.entries(gauges).map(([key, name]) => [
    key,
    new RegExp(`^plantstore_${name} (\\d)$`, 'm').exec(text)?.[1],
  ]);
  return { status: readyz!.status, store, ...Object.fromEntries(values) };
}
