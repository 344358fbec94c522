import { median } from '../compare.ts';
import type { Arrivals } from '../load/job.ts';

/** The windows of one load, each with the highest rate of its round: what clients get that wait for their answers. */
export interface Case {
  readonly name: string;
  readonly windows: readonly { readonly arrivals: Arrivals; readonly peak: number }[];
}

const COLUMNS: Readonly<Record<string, (window: Case['windows'][number]) => string>> = {
  'arrive/s': ({ arrivals: { offered } }) => (offered === 0 ? '' : offered.toFixed(0)),
  'unsent/s': ({ arrivals: { unsent } }) => unsent.toFixed(0),
  'served/s': ({ arrivals: { served } }) => served.toFixed(0),
  'of peak': ({ arrivals: { served }, peak }) => (served / peak).toFixed(2),
  '503/s': ({ arrivals: { refused } }) => refused.toFixed(0),
  lost: ({ arrivals: { lost } }) => lost.toFixed(0),
  'p50 ms': ({ arrivals: { latency } }) => latency.p50.toFixed(0),
  'p99 ms': ({ arrivals: { latency } }) => latency.p99.toFixed(0),
  'max ms': ({ arrivals: { latency } }) => latency.max.toFixed(0),
  '503 p99': ({ arrivals: { refusal } }) => (Number.isNaN(refusal.p99) ? '' : refusal.p99.toFixed(0)),
  'CPU us': ({ arrivals: { server, served } }) => ((server * 1e6) / served).toFixed(0),
  'service cores': ({ arrivals: { server } }) => server.toFixed(2),
  'client cores': ({ arrivals: { client } }) => client.toFixed(2),
  'late p99': ({ arrivals: { lateness } }) => lateness.p99.toFixed(1),
};

/**
 * A line for each load: its median window, by what was served. CPU is the service's for a request that was served, all
 * that it refused included. Windows in which more than one request in a hundred was sent later than `maxLateness`, in
 * milliseconds, measured the client and are left out.
 */
export function arrivalsTable(cases: readonly Case[], maxLateness: number): string {
  return [line('', Object.keys(COLUMNS)), ...cases.map((one) => row(one, maxLateness))].join('\n');
}

function row({ name, windows }: Case, maxLateness: number): string {
  const valid = windows.filter(({ arrivals }) => arrivals.lateness.p99 <= maxLateness);
  const served = median(valid.map(({ arrivals }) => arrivals.served));
  const window = valid.find(({ arrivals }) => arrivals.served === served);
  const left = windows.length - valid.length;
  if (window === undefined) {
    const late = windows.map(({ arrivals }) => arrivals.lateness.p99.toFixed(0)).join(', ');
    return `  ${name.padEnd(NAME)}  nothing to report: the client itself was late, p99 ${late} ms`;
  }
  const cells = Object.values(COLUMNS).map((cell) => cell(window));
  return line(name, cells) + (left > 0 ? `  (${left} of ${windows.length} left out: the client was late)` : '');
}

const NAME = 34;

const line = (name: string, cells: readonly string[]): string =>
  `  ${name.padEnd(NAME)}${cells.map((cell, index) => cell.padStart(Object.keys(COLUMNS)[index]!.length + 3)).join('')}`;
