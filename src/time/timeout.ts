import { clearTimer, setTimer } from './host.ts';
/** Settles as the work does, or rejects with `late()` after the given milliseconds. The work itself is not stopped. */
export function withTimeout<T>(work: Promise<T>, milliseconds: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimer(() => reject(late()), milliseconds);
    work.then(resolve, reject).finally(() => clearTimer(timer));
  });
}
