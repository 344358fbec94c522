import { withTimeout } from '../../time/timeout.ts';

/** The outcome of the work, or a rejection after so many milliseconds; the work is then left to itself. */
export const within = <T>(milliseconds: number, work: Promise<T>): Promise<T> =>
  withTimeout(work, milliseconds, () => new Error(`Kafka was not done after ${milliseconds / 1000} s`));
