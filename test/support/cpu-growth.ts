import { readdirSync, readFileSync } from 'node:fs';

/** Nanoseconds of CPU that the live threads of a process have used so far. */
export function cpuOf(pid: number): number {
  return readdirSync(`/proc/${pid}/task`)
    .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]))
    .reduce((sum, nanoseconds) => sum + nanoseconds, 0);
}

/** Work whose cost may depend on a size, and a reading of the CPU used so far by the process that does it. */
export interface Work {
  run(size: number): Promise<unknown> | unknown;
  cpu(): number;
}

/** Repetitions of each size in the first measurement, and in repeated ones. */
const REPETITIONS = [3, 9, 31];

/** Milliseconds above which a measurement is not repeated: noise does not cause so much work. */
const LONG_ENOUGH = 10_000;

/**
 * Ratio of the CPU of work of twice the size to that of one size: 2 if linear, 4 if quadratic. Takes the least of
 * each, since other load only adds, and alternates the sizes. A result above `limit` is measured again, with more
 * repetitions each time.
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
    growth = Math.min(...costs[1]) / Math.min(...costs[0]);
    if (growth < limit || performance.now() > end) break;
  }
  return growth;
}
