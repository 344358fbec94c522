import { compare, type Effort, type Measured, type Side } from '../compare.ts';
import type { HttpRequest, Ids } from '../load/job.ts';
import { ADD, FIRST_ID, listRequest } from '../plants.ts';
import { plantstore } from '../plantstore.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';
import { Scene } from '../scene.ts';
import type { Server } from '../server.ts';
import { INSTANCE_WORKS, OURS } from '../works.ts';

const CONNECTIONS = 64;
const PLANTS = 20;
const DATABASE = 'instances';

/** Several instances that write one log at once beside one alone, and what STRICT_READS costs. */
export async function instances(bench: Bench, effort: Effort): Promise<Results> {
  const scene = await Scene.open(bench);
  const start = (env: Record<string, string> = {}) =>
    bench.server(plantstore(bench.directory(), { ...scene.environment(DATABASE), ...env }));
  const [first, second, third, fourth] = [await start(), await start(), await start(), await start()];
  const strict = await start({ STRICT_READS: 'true' });

  let nextId = FIRST_ID;
  const measure = async (servers: readonly Server[], request: HttpRequest, seconds: number, ids?: Ids) => {
    const job = { protocol: 'http', urls: servers.map(({ url }) => url), tokens: [scene.token('alice')] } as const;
    const limits = { connections: CONNECTIONS, seconds, ...(ids && { ids }) };
    const measured = await scene.measure(together(servers), { ...job, requests: [request], ...limits }, () =>
      scene.projected(DATABASE),
    );
    nextId = Math.max(nextId, measured.nextId);
    return measured;
  };
  await measure([first], ADD, Number.POSITIVE_INFINITY, { from: nextId, to: nextId + PLANTS });
  const list = listRequest(`/plants?limit=${PLANTS}`, PLANTS);
  const side = (name: string, servers: readonly Server[], work: string): Side => ({
    name,
    run: async (asked, seconds): Promise<Measured | undefined> => {
      if (asked !== work) return undefined;
      if (work === INSTANCE_WORKS.lists) return measure(servers, list, seconds);
      return measure(servers, ADD, seconds, { from: nextId, to: Number.POSITIVE_INFINITY });
    },
  });
  const sides = [
    side('4 instances', [first, second, third, fourth], INSTANCE_WORKS.adds),
    side('1 instance', [first], INSTANCE_WORKS.adds),
    side('STRICT_READS=true', [strict], INSTANCE_WORKS.lists),
    side('STRICT_READS=false', [first], INSTANCE_WORKS.lists),
  ];
  const comparison = await compare(Object.values(INSTANCE_WORKS), sides, effort);
  const longest = Math.max(...comparison[INSTANCE_WORKS.adds]!['4 instances']!.map(({ max }) => max));
  console.log(`\nlongest time of any add with 4 instances at once: ${longest.toFixed(0)} ms`);
  return { comparison };
}

/** Several servers as one, for what they cost. */
const together = (servers: readonly Server[]): Server => ({
  ...servers[0]!,
  name: `${servers.length} of ${OURS}`,
  cpu: () => servers.reduce((sum, server) => sum + server.cpu(), 0),
});
