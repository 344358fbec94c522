import { withTimeout } from '../../time/pause.ts';

/** Settles as the work does, or rejects after the given milliseconds. The work itself is not stopped. */
export const within = <T>(milliseconds: number, work: Promise<T>): Promise<T> =>
  withTimeout(work, milliseconds, () => new Error(`Kafka did not respond within ${milliseconds / 1000} s`));
