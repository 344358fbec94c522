import { basename } from 'node:path';
import { type Effort, type Measured, median } from '../compare.ts';
import { STORES, type Store } from '../growth-side.ts';
import { Watchers } from '../load/watchers.ts';
import type { Probed } from '../load/watching.ts';
import { ADD, FIRST_ID } from '../plants.ts';
import { type PlantStore, plantstore } from '../plantstore.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';
import { Scene } from '../scene.ts';
import { cpuOf } from '../server.ts';
import { OURS } from '../works.ts';

const WATCHERS = 1_000;
const QUIET_WATCHERS = 5_000;
/** Streams of each owner among the quiet ones: as many as an owner may have. */
const STREAMS_OF_AN_OWNER = 16;
const CONNECTIONS = 64;
/** Milliseconds between two adds that are looked for in the streams. */
const PROBE_EVERY = 50;
const PROBES_FROM = 1;
/** Milliseconds after which a service has settled that nobody asks for anything. */
const SETTLED = 3_000;

/** Who adds as fast as they can while the owner's streams are told. */
type Adder = 'the owner' | 'another owner';

/** What one turn gave. */
interface Turn extends Pick<Measured, 'rate' | 'service' | 'client'> {
  readonly probed: Probed;
  /** Events that came to all streams, a second. */
  readonly deliveries: number;
  /** Times that a stream was read, a second. */
  readonly reads: number;
  /** How busy those who watch were, as a share of one core. */
  readonly watching: number;
}

/**
 * What those who watch cost the ones who add, when they hear of it, and the memory that they take while nothing
 * happens.
 */
export async function watch(bench: Bench, effort: Effort): Promise<Results> {
  const scene = await Scene.open(bench);
  for (const store of STORES) await measureAdds(bench, scene, store, effort);
  for (const checkout of checkoutsOf(effort)) await measureMemory(bench, scene, checkout);
  return {};
}

/** This version, and those beside it. */
const checkoutsOf = ({ beside }: Effort): { readonly name: string; readonly checkout?: string }[] => [
  { name: OURS },
  ...beside.map((checkout) => ({ name: basename(checkout), checkout })),
];

async function measureAdds(bench: Bench, scene: Scene, store: Store, effort: Effort): Promise<void> {
  const servers: PlantStore[] = [];
  for (const side of checkoutsOf(effort)) {
    const { MONGODB_URI, ...env } = scene.environment(`watch-${side.name}`);
    const stored = store === 'MongoDB' ? { ...env, MONGODB_URI: MONGODB_URI! } : env;
    const limits = { MAX_OWNER_WATCHES: `${WATCHERS}` };
    servers.push(await bench.server(plantstore(bench.directory(), { ...stored, ...limits }, side)));
  }
  console.log(`\n${store}: adds on ${CONNECTIONS} connections beside ${WATCHERS} streams of one owner`);
  for (const adder of ['the owner', 'another owner'] as const) {
    const turns = servers.map(() => ({ alone: [] as Turn[], watched: [] as Turn[] }));
    for (let round = -1; round < effort.rounds; round++)
      for (const [index, server] of servers.entries()) {
        const alone = await turn(scene, server, adder, 0, effort.seconds);
        const watched = await turn(scene, server, adder, WATCHERS, effort.seconds);
        if (round < 0) continue;
        turns[index]!.alone.push(alone);
        turns[index]!.watched.push(watched);
      }
    for (const [index, { name }] of servers.entries()) tell(name, adder, turns[index]!.alone, turns[index]!.watched);
  }
  for (const server of servers) await server.stop();
}

let owners = 0;
let nextId = FIRST_ID;

/**
 * An owner of this turn alone, so that the state with which a stream begins is short, adds a little; `adder` adds much.
 */
async function turn(scene: Scene, server: PlantStore, adder: Adder, streams: number, seconds: number): Promise<Turn> {
  const token = scene.token(`watched ${owners++}`);
  const watchers = new Watchers();
  try {
    await watchers.open({ url: server.url, tokens: [token], count: streams });
    const before = await watchers.received();
    const [watching, start] = [cpuOf(watchers.pid), performance.now()];
    let [probed, received, elapsed] = [undefined as Probed | undefined, before, 0];
    const probing = watchers.probe({ token, from: PROBES_FROM, seconds, every: PROBE_EVERY });
    const measured = await scene.measure(
      server,
      {
        ...{ protocol: 'http', urls: [server.url], requests: [ADD], connections: CONNECTIONS, seconds },
        tokens: [adder === 'the owner' ? token : scene.token('another')],
        ids: { from: nextId, to: Number.POSITIVE_INFINITY },
      },
      async () => {
        probed = await probing;
        elapsed = (performance.now() - start) / 1_000;
        received = await watchers.received();
      },
    );
    nextId = measured.nextId;
    if (received.closed > 0 || !received.isSame)
      throw new Error(`streams had other bytes: ${JSON.stringify(received)}`);
    const events = probed!.probes + (adder === 'the owner' ? measured.count : 0);
    return {
      ...measured,
      probed: probed!,
      deliveries: (events * streams) / elapsed,
      reads: (received.reads - before.reads) / elapsed,
      watching: (cpuOf(watchers.pid) - watching) / 1e6 / elapsed,
    };
  } finally {
    watchers.stop();
  }
}

function tell(name: string, adder: Adder, alone: readonly Turn[], watched: readonly Turn[]): void {
  const of = (turns: readonly Turn[], figure: (turn: Turn) => number) => median(turns.map(figure));
  const ratio = (figure: (turn: Turn) => number) =>
    median(watched.map((turn, round) => figure(turn) / figure(alone[round]!)));
  const ms = ({ p50, p99, max }: Probed['times']) => `${p50.toFixed(0)} / ${p99.toFixed(0)} / ${max.toFixed(0)}`;
  const middle = (turns: readonly Turn[], times: 'times' | 'answers') =>
    ms({
      p50: of(turns, ({ probed }) => probed[times].p50),
      p99: of(turns, ({ probed }) => probed[times].p99),
      max: Math.max(...turns.map(({ probed }) => probed[times].max)),
    });
  console.log(
    `  ${name}, ${adder} adds: ${of(alone, ({ rate }) => rate).toFixed(0)}/s alone, ${of(watched, ({ rate }) => rate).toFixed(0)}/s watched: kept ${ratio(({ rate }) => rate).toFixed(2)}` +
      ` (${watched.map(({ rate }, round) => (rate / alone[round]!.rate).toFixed(2)).join(' ')})` +
      `\n    CPU of the service an add: ${of(alone, ({ service }) => service).toFixed(0)} us alone, ${of(watched, ({ service }) => service).toFixed(0)} us watched: with a core of its own it keeps ${(1 / ratio(({ service }) => service)).toFixed(2)}` +
      `\n    ${of(watched, ({ deliveries }) => deliveries).toFixed(0)} deliveries/s in ${of(watched, ({ reads }) => reads).toFixed(0)} reads/s; those who watch took ${of(watched, ({ watching }) => watching).toFixed(2)} of a core, those who add ${of(watched, ({ client }) => client).toFixed(2)}` +
      `\n    from an add to a stream, ms: ${middle(watched, 'times')} (p50 / p99 / longest), to its answer: ${middle(watched, 'answers')}, alone ${middle(alone, 'answers')}`,
  );
}

/** Memory of many who watch while nothing happens, by parts. */
async function measureMemory(bench: Bench, scene: Scene, side: { name: string; checkout?: string }): Promise<void> {
  const { MONGODB_URI: _, ...env } = scene.environment('unused');
  const server = await bench.server(plantstore(bench.directory(), env, side));
  const owners = Math.ceil(QUIET_WATCHERS / STREAMS_OF_AN_OWNER);
  const tokens = Array.from({ length: owners }, (_, owner) => scene.token(`quiet ${owner}`));
  const watchers = new Watchers();
  bench.defer(() => watchers.stop());
  // What many requests grow, they grow once.
  for (let time = 0; time < 3; time++) {
    await watchers.open({ url: server.url, tokens, count: 500 });
    await watchers.close();
  }
  const before = await memoryOf(server);
  await watchers.open({ url: server.url, tokens, count: QUIET_WATCHERS });
  const after = await memoryOf(server);
  console.log(`\n${side.name}: memory of ${QUIET_WATCHERS} quiet streams, before and after, MiB`);
  for (const [part, bytes] of Object.entries(after))
    console.log(`  ${part.padEnd(12)}${mebibytes(before[part]!)} ${mebibytes(bytes)}`);
  await server.stop();
}

async function memoryOf(server: PlantStore): Promise<Record<string, number>> {
  await new Promise((resolve) => setTimeout(resolve, SETTLED));
  const text = await (await fetch(`${server.adminUrl}/metrics`)).text();
  const metric = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  return {
    resident: server.resident(),
    'heap used': metric('nodejs_heap_size_used_bytes'),
    'heap total': metric('nodejs_heap_size_total_bytes'),
    external: metric('nodejs_external_memory_bytes'),
  };
}

const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1).padStart(8);
