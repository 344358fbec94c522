import { readdirSync, readFileSync } from 'node:fs';

/** Nanoseconds of CPU that a process has used so far, in all its threads that live. */
export function cpuOf(pid: number): number {
  return readdirSync(`/proc/${pid}/task`)
    .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]))
    .reduce((sum, nanoseconds) => sum + nanoseconds, 0);
}

/** Work whose cost may depend on a size, and the CPU that has been used so far by whoever does it. */
export interface Work {
  run(size: number): Promise<unknown> | unknown;
  cpu(): number;
}

/** Repetitions of each size in a measurement, and in those that follow one above the limit. */
const REPETITIONS = [3, 9, 31];

/** Milliseconds after which nothing is measured again: noise does not make work that long. */
const LONG_ENOUGH = 10_000;

/**
 * How many times the CPU of one size work of twice the size takes: 2 where it is linear, 4 where it is quadratic. Medians, the
 * sizes in turn, so that what else runs on the machine meets both. A result above `limit` is measured again, more often each time.
 */
export async function growthOf({ run, cpu }: Work, size: number, limit: number): Promise<number> {
  let growth = 0;
  const end = performance.now() + LONG_ENOUGH;
  for (const repetitions of REPETITIONS) {
    const costs: [number[], number[]] = [[], []];
    for (let turn = 0; turn < repetitions; turn++)
      for (const [index, times] of [1, 2].entries()) {
        const before = cpu();
        await run(size * times);
        costs[index]!.push(cpu() - before);
      }
    growth = median(costs[1]) / median(costs[0]);
    if (growth < limit || performance.now() > end) break;
  }
  return growth;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;
