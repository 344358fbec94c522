import type { Store } from '../../log/store.ts';
import type { Check, Failure } from './check.ts';

/** Is the database sound: does every index match its table? Only for stores that can check themselves. */
export class StorageCheck implements Check {
  readonly question = 'storage';
  readonly #fault: NonNullable<Store['fault']>;
  #found: Promise<string | undefined> | undefined;

  constructor(fault: NonNullable<Store['fault']>) {
    this.#fault = fault;
  }

  take(): undefined {}

  /** The fault, searched for once. Undefined: none. */
  fault(): Promise<string | undefined> {
    this.#found ??= this.#fault();
    return this.#found;
  }

  async finish(): Promise<Failure | undefined> {
    const message = await this.fault();
    return message === undefined ? undefined : { message };
  }
}
