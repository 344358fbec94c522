import { setTimeout as sleep } from 'node:timers/promises';
import { openDevelopmentIssuer } from '../../../src/auth/development.ts';
import { type Effort, median } from '../compare.ts';
import { Flood, type Flooded } from '../load/flood.ts';
import { LoadGenerator } from '../load/generator.ts';
import type { Arrivals } from '../load/job.ts';
import { pin } from '../pin.ts';
import { ADD, FIRST_ID } from '../plants.ts';
import { plantstore } from '../plantstore.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';

/** Most connections of a flood: fewer than MAX_CONNECTIONS, beyond which each new one ends another. */
const MOST = 9_000;
/**
 * Connections a second until there are as many, and then: to open more would take the core of the clients, which
 * measure.
 */
const SPEED = { rise: 3_000, rate: 500 };
/** What proper clients ask for meanwhile: lists a second on so many connections. */
const LISTS = { rate: 1_000, connections: 64 };
const PLANTS = 20;
/** Seconds from its begin until a flood has all its connections. */
const RISE = 4.5;
/** Milliseconds by which one list in a hundred may be sent late. Beyond, the client is what was measured. */
const MAX_LATENESS = 20;
/** Seconds between two floods. */
const REST = 1;

/** The first bytes of TLS, and then anything. */
const TLS = Buffer.concat([Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]), Buffer.alloc(512, 0xa5)]);
const NOTHING = Buffer.alloc(0);
/** What the connections of a flood send, by port. */
const SENDS = {
  PORT: { nothing: NOTHING, 'half a request': Buffer.from('GET /plants HTTP/1.1\r\nhost: localhost\r\nauthor'), TLS },
  GRPC_PORT: { nothing: NOTHING, 'half a preface': Buffer.from('PRI * HTTP/2.0\r\n'), TLS },
};

interface Window {
  readonly arrivals: Arrivals;
  /** Resident memory of the service, in MiB. */
  readonly memory: number;
  readonly flooded?: Flooded;
}

/** What clients get, and what memory the service takes, while somebody opens connection upon connection. */
export async function flood(bench: Bench, { rounds, seconds }: Effort): Promise<Results> {
  const load = new LoadGenerator();
  bench.defer(() => load.stop());
  const flooder = new Flood();
  bench.defer(() => flooder.stop());
  const directory = bench.directory();
  const server = await bench.server(plantstore(directory, {}));
  const { url, pid, grpcAddress } = server;
  const isAlone = pin(pid, [process.pid, load.pid, flooder.pid]);
  const { mintToken } = await openDevelopmentIssuer(directory);
  const tokens = [await mintToken({ owner: 'lister', ownerClaim: 'sub', ttl: 36_000 })];
  const ids = { from: FIRST_ID, to: FIRST_ID + PLANTS };
  await load.run({ protocol: 'http', urls: [url], tokens, requests: [ADD], connections: 1, seconds: Infinity, ids });

  const target = { url, requests: [{ method: 'GET', path: '/plants' }] } as const;
  const job = { protocol: 'arrivals', target, pid, tokens, limit: PLANTS, ids, warmUp: 0.5, seconds } as const;
  const measure = async (): Promise<Window> => {
    const arrivals = await load.arrive({ ...job, ...LISTS });
    return { arrivals, memory: server.resident() / 2 ** 20 };
  };
  const ports = { PORT: Number(new URL(url).port), GRPC_PORT: Number(grpcAddress.split(':')[1]) };
  const windows: Record<string, Window[]> = {};
  const note = (name: string, window: Window) => {
    windows[name] ??= [];
    windows[name].push(window);
  };
  await load.arrive({ ...job, connections: LISTS.connections });
  note('no flood, at first', await measure());
  for (let round = 0; round < rounds; round++)
    for (const [name, port] of Object.entries(ports) as [keyof typeof ports, number][])
      for (const [sent, bytes] of Object.entries(SENDS[name])) {
        await flooder.begin({ port, bytes, ...SPEED, most: MOST });
        await sleep(RISE * 1_000);
        const window = await measure();
        note(`${name}, ${sent}`, { ...window, flooded: await flooder.end() });
        await sleep(REST * 1_000);
        note('after a flood', await measure());
      }
  console.log(`\n${LISTS.rate} lists a second${isAlone ? '' : '; the service had no core of its own'}`);
  console.log(table(windows));
  return {};
}

/** Figures of a window that measured the service rather than the client. */
const heard =
  (read: (arrivals: Arrivals) => number) =>
  ({ arrivals }: Window): number | undefined =>
    arrivals.lateness.p99 <= MAX_LATENESS ? read(arrivals) : undefined;

const COLUMNS: Readonly<Record<string, (window: Window) => number | undefined>> = {
  'lists/s': heard(({ served }) => served),
  'not sent/s': heard(({ unsent }) => unsent),
  '503/s': heard(({ refused }) => refused),
  lost: heard(({ lost }) => lost),
  'p50 ms': heard(({ latency }) => latency.p50),
  'p99 ms': heard(({ latency }) => latency.p99),
  'max ms': heard(({ latency }) => latency.max),
  'late p99': ({ arrivals }) => arrivals.lateness.p99,
  'service %': ({ arrivals }) => arrivals.server * 100,
  MiB: ({ memory }) => memory,
  'opened/s': ({ flooded }) => flooded?.rate,
  'closed/s': ({ flooded }) => flooded?.closed,
  open: ({ flooded }) => flooded?.open,
};

/**
 * A line for each flood: the median of each figure over its windows; nothing where the client was late in all of them.
 */
function table(windows: Readonly<Record<string, readonly Window[]>>): string {
  const line = (name: string, cells: readonly string[]) =>
    `  ${name.padEnd(26)}${cells.map((cell) => cell.padStart(11)).join('')}`;
  const rows = Object.entries(windows).map(([name, all]) =>
    line(
      name,
      Object.values(COLUMNS).map((read) => {
        const figures = all.map(read).filter((figure) => figure !== undefined);
        return figures.length === 0 ? '' : median(figures).toFixed(figures[0]! < 100 ? 1 : 0);
      }),
    ),
  );
  return [line('', Object.keys(COLUMNS)), ...rows].join('\n');
}
