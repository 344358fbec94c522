import type { Store } from '../../log/store.ts';
import type { Check, Failure } from './check.ts';

/** Is the database itself sound: does every index hold exactly what its table holds? Asked of stores that can tell. */
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
