import { setTimeout as sleep } from 'node:timers/promises';
import type { PlantEvent } from '../../../src/domain/events.ts';
import { added } from '../../support/events.ts';

/** 1, 2, 3, ... up to `end`. */
export const upTo = (end: number): number[] => Array.from({ length: end }, (_, index) => index + 1);

/** So many new plants of one owner. */
export const plants = (from: number, count: number): PlantEvent[] =>
  Array.from({ length: count }, (_, index) => added('alice', BigInt(from + index)));

export const sorted = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);

/** Asks until the answer is right; the test's own limit ends it. A rejection is no answer. */
export async function eventually<T>(ask: () => Promise<T>, isRight: (answer: T | undefined) => boolean): Promise<void> {
  while (!isRight(await ask().catch(() => undefined))) await sleep(50);
}
