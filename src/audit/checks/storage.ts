import type { Store } from '../../log/store.ts';
import type { Check, Failure } from './check.ts';

/** Is the database sound: does every index match its table? Only for stores that can check themselves. */
export class StorageCheck implements Check {
  readonly question = 'storage';
  failure: Failure | undefined;
  readonly #fault: NonNullable<Store['fault']>;

  constructor(fault: NonNullable<Store['fault']>) {
    this.#fault = fault;
  }

  take(): void {}

  async finish(): Promise<void> {
    const message = await this.#fault();
    this.failure = message === undefined ? undefined : { message };
  }
}
