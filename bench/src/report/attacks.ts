import type { Attacked } from '../load/attack.ts';
import type { Asked, Kind } from '../load/bystander.ts';
import type { Quantiles } from '../load/sample.ts';

/** What others saw meanwhile: a caller, and a supervisor that also asks an idle server. */
export interface Seen extends Readonly<Record<Kind, Asked>> {
  /** How late either of them sent its requests, in milliseconds. */
  readonly lateness: readonly Quantiles[];
}

/** What an attack did to the service, and to somebody else. */
export interface Siege {
  readonly isAlive: boolean;
  /** Highest resident memory, in MiB. */
  readonly memory: number;
  /** What the bystander saw of the harmless flood of the same minute, and of the attack. */
  readonly control: Seen;
  readonly seen: Seen;
  /** Seconds from the begin of the attack until the end of the process, or until 3 s after the attack. */
  readonly seconds: number;
  /** CPU of the service in that time, as a share of one core. */
  readonly cpu: number;
  readonly attacked: Attacked;
}

/** How a check went, in words. */
export interface Checked {
  readonly isWell: boolean;
  readonly found: string;
}

/** What a service withstands: twice the heap limit in MiB, times the control's p50, part of the lists, milliseconds. */
const BOUNDS = { memory: 640, times: 4, served: 0.97, probe: 100 };
/** Milliseconds by which one request in a hundred may be sent late. Beyond, the client is what was measured. */
const MAX_LATENESS = 20;

/** The verdict of an attack, and what it rests on. */
export function attackLines({ isAlive, memory, seconds, cpu, control, seen, attacked }: Siege): string {
  const { list, readyz, 'Health/Check': check, idle } = seen;
  const times = (quantile: 'p50' | 'p99') =>
    `${list.latency[quantile].toFixed(1)} (control ${control.list.latency[quantile].toFixed(1)}, x ${(list.latency[quantile] / control.list.latency[quantile]).toFixed(1)})`;
  const ratio = list.latency.p50 / control.list.latency.p50;
  const broken = [
    ...(isAlive ? [] : ['dead']),
    ...(memory < BOUNDS.memory ? [] : ['memory']),
    ...(ratio <= BOUNDS.times ? [] : ['latency']),
    ...(list.served >= BOUNDS.served ? [] : ['lists not served']),
    ...([readyz, check].every(isProbeWell) ? [] : ['probes']),
  ];
  const lateness = Math.max(...seen.lateness.map(({ p99 }) => p99));
  const late = lateness > MAX_LATENESS ? `; requests were sent late: p99 ${lateness.toFixed(0)} ms` : '';
  return [
    `  ${broken.length === 0 ? 'withstood' : `FAILED: ${broken.join(', ')}`}${late}`,
    `  service: ${isAlive ? 'alive' : `dead after ${seconds.toFixed(0)} s`}, ${memory.toFixed(0)} MiB, ${(cpu * 100).toFixed(0)} % of a core`,
    `  bystander: ${asked(list)}, p50 ${times('p50')} ms, p99 ${times('p99')} ms`,
    `  probes: /readyz ${probed(readyz)}; Health/Check ${probed(check)}; of an idle server ${probed(idle)}`,
    `  attacker: ${tally(attacked)}`,
  ].join('\n');
}

/** The verdict of a check, and what it found. */
export const checkLines = ({ isWell, found }: Checked): string => `  ${isWell ? 'withstood' : 'FAILED'}\n  ${found}`;

const isProbeWell = ({ served, latency }: Asked): boolean => served === 1 && latency.p99 <= BOUNDS.probe;

const probed = (probe: Asked): string =>
  `${asked(probe)}, p50 ${probe.latency.p50.toFixed(0)} ms, p99 ${probe.latency.p99.toFixed(0)} ms`;

const asked = ({ served, failures }: Asked): string =>
  `${(served * 100).toFixed(0)} % served${served < 1 ? ` (${tally(failures)})` : ''}`;

const tally = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([what, count]) => `${what}: ${count.toLocaleString('en')}`)
    .join(', ');
