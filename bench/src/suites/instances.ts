import { compare, type Effort, type Measured, type Side } from '../compare.ts';
import type { HttpRequest, Ids } from '../load/job.ts';
import { ADD, FIRST_ID, listRequest } from '../plants.ts';
import { type PlantStore, plantstore } from '../plantstore.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';
import { Scene } from '../scene.ts';
import type { Server } from '../server.ts';
import { INSTANCE_WORKS, OURS } from '../works.ts';

const CONNECTIONS = 64;
const PLANTS = 20;
/** Numbers of instances that write one log at once. */
const SIZES = [1, 2, 4];
/**
 * Seconds of the windows that are not counted. V8 compiles an instance's code over its first ten thousand requests, and
 * each of four instances gets a quarter of them.
 */
const WARM_UP = 8;

/** Instances of one log, which has a database of its own, so that none of them is the writer of another side's. */
interface Group {
  readonly database: string;
  readonly servers: readonly PlantStore[];
  nextId: number;
}

/**
 * Several instances that write one log at once beside one alone, an add by way of another instance, and what
 * STRICT_READS costs.
 */
export async function instances(bench: Bench, effort: Effort): Promise<Results> {
  const scene = await Scene.open(bench);
  const start = (database: string, env: Record<string, string> = {}) =>
    bench.server(plantstore(bench.directory(), { ...scene.environment(database), ...env }));
  const group = async (size: number): Promise<Group> => {
    const database = `instances-${size}`;
    const servers: PlantStore[] = [];
    while (servers.length < size) servers.push(await start(database));
    return { database, servers, nextId: FIRST_ID };
  };
  const measure = async (of: Group, servers: readonly Server[], request: HttpRequest, seconds: number, load: Load) => {
    const job = { protocol: 'http', urls: servers.map(({ url }) => url), tokens: [scene.token('alice')] } as const;
    const measured = await scene.measure(together(of.servers), { ...job, requests: [request], seconds, ...load }, () =>
      scene.projected(of.database),
    );
    of.nextId = Math.max(of.nextId, measured.nextId);
    return measured;
  };
  const adds = (of: Group, servers: readonly Server[], seconds: number, connections: number) =>
    measure(of, servers, ADD, seconds, { connections, ids: { from: of.nextId, to: Number.POSITIVE_INFINITY } });

  const groups: Group[] = [];
  for (const size of SIZES) groups.push(await group(size));
  const [alone, pair] = groups as [Group, Group];
  for (const of of groups) {
    const ids = { from: of.nextId, to: of.nextId + PLANTS };
    await measure(of, [of.servers[0]!], ADD, Number.POSITIVE_INFINITY, { connections: CONNECTIONS, ids });
  }
  const strict: Group = { ...alone, servers: [await start(alone.database, { STRICT_READS: 'true' })] };
  const list = listRequest(`/plants?limit=${PLANTS}`, PLANTS);
  const side = (name: string, work: string, run: (seconds: number) => Promise<Measured>): Side => ({
    name,
    run: async (asked, seconds) => (asked === work ? run(seconds) : undefined),
  });
  const lists = (of: Group) => (seconds: number) =>
    measure(of, of.servers, list, seconds, { connections: CONNECTIONS });
  const sides = [
    ...groups
      .toReversed()
      .map((of) =>
        side(nameOf(of.servers.length), INSTANCE_WORKS.adds, (seconds) => adds(of, of.servers, seconds, CONNECTIONS)),
      ),
    side('at another instance', INSTANCE_WORKS.add, async (seconds) =>
      adds(pair, [(await writerFirst(pair))[1]!], seconds, 1),
    ),
    side('at the writer', INSTANCE_WORKS.add, async (seconds) =>
      adds(pair, [(await writerFirst(pair))[0]!], seconds, 1),
    ),
    side('STRICT_READS=true', INSTANCE_WORKS.lists, lists(strict)),
    side('STRICT_READS=false', INSTANCE_WORKS.lists, lists(alone)),
  ];
  const comparison = await compare(Object.values(INSTANCE_WORKS), sides, {
    ...effort,
    warmUp: effort.warmUp > 0 ? WARM_UP : 0,
  });
  for (const size of SIZES) {
    const longest = Math.max(...comparison[INSTANCE_WORKS.adds]![nameOf(size)]!.map(({ max }) => max));
    console.log(`longest time of any add, ${nameOf(size)}: ${longest.toFixed(0)} ms`);
  }
  return { comparison };
}

interface Load {
  readonly connections: number;
  readonly ids?: Ids;
}

const nameOf = (size: number): string => `${size} instance${size === 1 ? '' : 's'}`;

/** The servers of a group, the writer before the others. */
async function writerFirst({ servers }: Group): Promise<PlantStore[]> {
  const writes = await Promise.all(
    servers.map(async ({ adminUrl }) =>
      /^plantstore_writer 1$/m.test(await (await fetch(`${adminUrl}/metrics`)).text()),
    ),
  );
  return servers.toSorted((a, b) => Number(writes[servers.indexOf(b)]) - Number(writes[servers.indexOf(a)]));
}

/** Several servers as one, for what they cost. */
const together = (servers: readonly Server[]): Server => ({
  ...servers[0]!,
  name: `${servers.length} of ${OURS}`,
  cpu: () => servers.reduce((sum, server) => sum + server.cpu(), 0),
});
