import { type Comparison, type Figure, median } from '../compare.ts';
import type { Judged } from './goals.ts';

/** From which share of a core on the client may have been what limited a rate. */
const BUSY = 0.9;

const FIGURES: Readonly<Record<Figure, string>> = {
  rate: 'rate',
  p50: 'p50',
  p99: 'p99',
  max: 'longest',
  service: 'CPU of the service alone',
  cpu: 'CPU of service and mongod',
};

/** A table for each work: medians of each side, and the median of the ratios of the first side's rate to its. */
export function tables(comparison: Comparison): string {
  return Object.entries(comparison)
    .map(([work, sides]) => [`\n${work}`, HEADER, ...rows(sides)].join('\n'))
    .join('\n');
}

const COLUMNS = ['requests/s', 'p50 ms', 'p99 ms', 'service us', '+ mongod us', 'first is'];
const line = (name: string, cells: readonly string[]): string =>
  `  ${name.padEnd(24)}${cells.map((cell) => cell.padStart(13)).join('')}`;
const HEADER = line('', COLUMNS);

function rows(sides: Comparison[string]): string[] {
  const [first = []] = Object.values(sides);
  return Object.entries(sides).map(([name, windows]) => {
    const of = (figure: Figure | 'client') => median(windows.map((window) => window[figure]));
    const ratio = median(first.map(({ rate }, round) => rate / windows[round]!.rate));
    return line(name, [
      `${of('rate').toFixed(0)}${of('client') >= BUSY ? ' *' : ''}`,
      of('p50').toFixed(2),
      of('p99').toFixed(2),
      of('service').toFixed(1),
      of('cpu').toFixed(1),
      windows === first ? '' : `${ratio.toFixed(2)} x`,
    ]);
  });
}

/** Why some figures say little, if any do. */
export function caveats(comparison: Comparison): string {
  const windows = Object.values(comparison).flatMap((sides) => Object.values(sides).flat());
  return windows.some(({ client }) => client >= BUSY)
    ? '\n* the client had no core left: the server could have answered more; compare the CPU'
    : '';
}

/** A line for each goal. */
export function goalsTable(goals: readonly Judged[]): string {
  if (goals.length === 0) return '';
  const lines = goals.map(({ work, side, figure, against, goal, value, met }) => {
    const bound = `${figure === 'rate' ? '>=' : '<='} ${goal}`;
    const verdict = met === undefined ? 'not measured' : met ? 'met' : 'MISSED';
    const best = against.length === 1 ? against[0] : `the best of ${against.length}`;
    return `  ${verdict.padEnd(13)}${(value?.toFixed(2) ?? '-').padStart(6)} ${bound.padEnd(8)}${work}: ${side === undefined ? '' : `${side}: `}${FIGURES[figure]} against ${best}`;
  });
  return ['\nGoals (medians of the ratios within a round)', ...lines].join('\n');
}
