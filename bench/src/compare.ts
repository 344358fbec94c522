import type { Round } from './load.ts';

/** How long and how often to measure. */
export interface Effort {
  readonly rounds: number;
  /** Seconds of each round. */
  readonly seconds: number;
}

/** One of the sides that are compared. */
export interface Side {
  readonly name: string;
  /** Loads it for so many seconds. */
  round(seconds: number): Promise<Round>;
}

/** The middle one of some numbers. */
export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!;

/**
 * Loads the first side and each of the others in turns, so that what else the machine does meets all of them, and prints each
 * side's medians and the median of the first side's ratios to the others.
 */
export async function compare(work: string, sides: readonly Side[], { rounds, seconds }: Effort): Promise<void> {
  const results = sides.map((): Round[] => []);
  for (let round = 0; round < rounds; round++)
    for (const [index, side] of sides.entries()) results[index]!.push(await side.round(seconds));
  console.log(`\n${work}`);
  for (const [index, { name }] of sides.entries()) {
    const of = (figure: keyof Round) => median(results[index]!.map((round) => round[figure]));
    const ratio = median(results[0]!.map((first, round) => first.rate / results[index]![round]!.rate));
    console.log(
      `  ${name.padEnd(34)}${of('rate').toFixed(0).padStart(8)}/s  p50 ${of('p50').toFixed(2)} ms  p99 ${of('p99').toFixed(1)} ms` +
        `  CPU ${of('cpu').toFixed(0)} us${index === 0 ? '' : `   ratio ${ratio.toFixed(2)}`}`,
    );
  }
}
