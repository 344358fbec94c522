import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Service } from './service.ts';

/** NODE_OPTIONS of a service for `measure`. */
export const MEASURABLE = `--expose-gc --import=${fileURLToPath(new URL('live-memory.ts', import.meta.url))}`;

const MEGABYTE = 1024 * 1024;

/** The resources of a service at one time: megabytes and counts, by name. */
export type Measurement = Readonly<Record<keyof typeof UNITS, number>>;

const UNITS = {
  /** Live memory after a garbage collection, on and off the heap. */
  live: 'MB alive',
  /** The same in the publisher's thread. */
  liveInPublisher: "MB alive in the publisher's thread",
  heap: 'MB of heap used between two collections',
  resident: 'MB resident',
  descriptors: 'open descriptors',
  handles: 'active handles',
} as const;

/**
 * Measures a publishing service that was started with MEASURABLE. Reads the size of the heap before the garbage
 * collection.
 */
export async function measure(service: Service): Promise<Measurement> {
  const metrics = await service.metrics();
  const metric = (name: string) => metrics.get(name)!.samples[0]!.value;
  const before = service.output.length;
  process.kill(service.pid, 'SIGWINCH');
  const live = async (thread: string) => {
    const said = new RegExp(`live memory of the ${thread} thread: (\\d+)\n`);
    for (; ; await sleep(20)) {
      const bytes = said.exec(service.output.slice(before));
      if (bytes !== null) return Number(bytes[1]) / MEGABYTE;
    }
  };
  return {
    live: await live('main'),
    liveInPublisher: await live('other'),
    heap: metric('nodejs_heap_size_used_bytes') / MEGABYTE,
    resident: service.residentMemory,
    descriptors: readdirSync(`/proc/${service.pid}/fd`).length,
    handles: metric('nodejs_active_handles_total'),
  };
}

/** Growth per minute by least squares. */
export function slope(points: readonly { readonly minutes: number; readonly value: number }[]): number {
  const mean = (of: (point: { minutes: number; value: number }) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [minutes, value] = [mean((point) => point.minutes), mean((point) => point.value)];
  const covariance = mean((point) => (point.minutes - minutes) * (point.value - value));
  return covariance / mean((point) => (point.minutes - minutes) ** 2);
}

/** A line for each resource: its value at the beginning and the end, and its growth per minute. */
export function growthText(samples: readonly { readonly minutes: number; readonly measured: Measurement }[]): string {
  const names = Object.keys(UNITS) as (keyof typeof UNITS)[];
  return names
    .map((name) => {
      const values = samples.map(({ minutes, measured }) => ({ minutes, value: measured[name] }));
      const [first, last] = [values[0]!.value, values.at(-1)!.value];
      return `  ${first.toFixed(1)} to ${last.toFixed(1)} ${UNITS[name]}, ${slope(values).toFixed(2)} more a minute`;
    })
    .join('\n');
}
