import { openDevelopmentIssuer } from '../../../src/auth/development.ts';
import { ReplicaSet } from '../../../test/support/replica-set.ts';
import type { Effort } from '../compare.ts';
import { LoadGenerator } from '../load/generator.ts';
import type { Arrivals, ArrivalsJob, GrpcTarget, RestTarget } from '../load/job.ts';
import { pin } from '../pin.ts';
import { ADD, FIRST_ID } from '../plants.ts';
import { type PlantStore, plantstore } from '../plantstore.ts';
import { arrivalsTable, type Case } from '../report/arrivals.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';

/** Connections that show the capacity: the highest rate of any of them is the peak. */
const CLOSED = [64, 256, 512];
/** Times the capacity, on the connections of some gateways, and of many clients with one each. */
const OPEN = [
  { connections: 1_000, times: 1 },
  { connections: 1_000, times: 2 },
  { connections: 1_000, times: 4 },
  { connections: 4_000, times: 4 },
];
/** Milliseconds by which one request in a hundred may be sent late. Beyond, the client is what was measured. */
const MAX_LATENESS = 20;
/** Seconds of the same load before anything is counted. */
const WARM_UP = { closed: 0.5, open: 1 };
const PLANTS = 20;
const OWNERS = 11;
/** Most ids that one window takes. */
const IDS = 1_000_000;

const LIST = { method: 'GET', path: `/plants?limit=${PLANTS}` } as const;
const LISTS = `lists of ${PLANTS} plants`;

interface Work {
  readonly work: string;
  /** In MongoDB; undefined: in SQLite. */
  readonly database: string | undefined;
  readonly target: (server: PlantStore) => ArrivalsJob['target'];
}

const rest =
  (...requests: RestTarget['requests']) =>
  ({ url }: PlantStore): RestTarget => ({ url, requests });
const grpc =
  (method: GrpcTarget['method']) =>
  ({ grpcAddress }: PlantStore): GrpcTarget => ({ address: grpcAddress, method });

const WORKS: readonly Work[] = [
  { work: `${LISTS}, SQLite`, database: undefined, target: rest(LIST) },
  { work: 'adds, MongoDB', database: 'adds', target: rest(ADD) },
  { work: `nine ${LISTS} to an add, MongoDB`, database: 'mix', target: rest(...Array(9).fill(LIST), ADD) },
  { work: `gRPC, ${LISTS}, SQLite`, database: undefined, target: grpc('listPlants') },
  { work: 'gRPC, adds, MongoDB', database: 'rpc', target: grpc('createPlant') },
];

/** Lets requests arrive on so many connections, at so many a second if it says how many. */
type Arrive = (load: Pick<ArrivalsJob, 'connections' | 'rate' | 'warmUp'>) => Promise<Arrivals>;

/**
 * What is left of the service when requests arrive faster than it can serve them: once, twice and four times its
 * capacity.
 */
export async function overload(bench: Bench, { rounds, seconds }: Effort): Promise<Results> {
  const load = new LoadGenerator();
  bench.defer(() => load.stop());
  const set = await ReplicaSet.start(1);
  bench.defer(() => set.remove());
  const { pid: mongod } = await set.command({ serverStatus: 1 });

  for (const { work, database, target: targetOf } of WORKS) {
    const directory = bench.directory();
    const server = await bench.server(
      plantstore(directory, database === undefined ? {} : { MONGODB_URI: set.uri(database) }),
    );
    const { url, pid } = server;
    const target = targetOf(server);
    const isAlone = pin(pid, [process.pid, load.pid, Number(mongod)]);
    const { mintToken } = await openDevelopmentIssuer(directory);
    const mint = (_: unknown, owner: number) => mintToken({ owner: `owner ${owner}`, ownerClaim: 'sub', ttl: 36_000 });
    const tokens = await Promise.all(Array.from({ length: OWNERS }, mint));
    let from = FIRST_ID + PLANTS * OWNERS;
    const seeds = { from: FIRST_ID, to: from };
    await load.run({
      ...{ protocol: 'http', urls: [url], tokens, requests: [ADD], connections: 1 },
      ...{ seconds: Number.POSITIVE_INFINITY, ids: seeds },
    });
    const arrive: Arrive = (some) => {
      const ids = { from };
      from += IDS;
      return load.arrive({ protocol: 'arrivals', target, pid, tokens, limit: PLANTS, ids, seconds, ...some });
    };
    const cases = await measure(arrive, rounds);
    await server.stop();
    console.log(`\n${work}${isAlone ? '' : '; the service had no core of its own'}`);
    console.log(arrivalsTable(cases, MAX_LATENESS));
  }
  return {};
}

/** Measures all loads in turns. A first round of those that show the capacity warms up and is not counted. */
async function measure(arrive: Arrive, rounds: number): Promise<Case[]> {
  const windows: Record<string, Case['windows'][number][]> = {};
  for (let round = -1; round < rounds; round++) {
    const closed = new Map<number, Arrivals>();
    for (const connections of CLOSED) closed.set(connections, await arrive({ connections, warmUp: WARM_UP.closed }));
    if (round < 0) continue;
    const peak = Math.max(...closed.values().map(({ served }) => served));
    for (const [connections, arrivals] of closed) {
      const name = `capacity, ${connections} connections`;
      windows[name] ??= [];
      windows[name].push({ arrivals, peak });
    }
    for (const { connections, times } of OPEN) {
      const arrivals = await arrive({ connections, rate: peak * times, warmUp: WARM_UP.open });
      const name = `${times} x capacity, ${connections} connections`;
      windows[name] ??= [];
      windows[name].push({ arrivals, peak });
    }
  }
  return Object.entries(windows).map(([name, of]) => ({ name, windows: of }));
}
