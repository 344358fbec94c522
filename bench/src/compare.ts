import type { Sample } from './load/sample.ts';

/** How long and how often to measure. */
export interface Effort {
  readonly rounds: number;
  /** Seconds of each window. */
  readonly seconds: number;
  /** Seconds of the windows of a first round that is not counted, so that code is compiled by then; 0: none. */
  readonly warmUp: number;
  /** Events in the longest log. */
  readonly events: number;
  /** Folders of other checkouts of the service, for `versions` and `attacks`. */
  readonly beside: readonly string[];
  /** Names of the `attacks` to run; none: all. */
  readonly only: readonly string[];
}

/** What one window gave, and what it cost. CPU time is in microseconds for one request. */
export interface Measured extends Sample {
  /** Of the server process. */
  readonly service: number;
  /** Of the server process and of mongod, if it has one. */
  readonly cpu: number;
  /** How busy the client was, as a share of one core; at 1 the rate is the client's limit. */
  readonly client: number;
}

/** A figure that sides are compared by. */
export type Figure = 'rate' | 'p50' | 'p99' | 'max' | 'service' | 'cpu';

/** One of the sides that are compared. */
export interface Side {
  readonly name: string;
  /** Does one work for so many seconds; undefined when it has no part in it. */
  run(work: string, seconds: number): Promise<Measured | undefined>;
}

/** The windows of each side in each work, by name; those of one index were measured in one round. */
export type Comparison = Readonly<Record<string, Readonly<Record<string, readonly Measured[]>>>>;

/** The same in order, from another one on. */
function rotated<T>(all: readonly T[], by: number): readonly T[] {
  const first = by % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

/** The middle one of some numbers. */
export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

/**
 * Lets the sides do each work in turns, so that what else the machine does meets all of them, round after round. Each
 * round begins with another side: the first one pays for what changes with the work.
 */
export async function compare(works: readonly string[], sides: readonly Side[], effort: Effort): Promise<Comparison> {
  const comparison: Record<string, Record<string, Measured[]>> = {};
  for (let round = effort.warmUp > 0 ? -1 : 0; round < effort.rounds; round++)
    for (const work of works)
      for (const side of rotated(sides, Math.max(round, 0))) {
        const measured = await side.run(work, round < 0 ? effort.warmUp : effort.seconds);
        if (measured === undefined || round < 0) continue;
        comparison[work] ??= {};
        comparison[work][side.name] ??= [];
        comparison[work][side.name]!.push(measured);
      }
  return comparison;
}
