import { PlantStoreError } from '../domain/errors.ts';
import { BrokenChainError } from './event/chain.ts';
import { LogChangedError } from './tail/log-changed.ts';

/** A store's own error as the 503 that a caller gets; what is no fault of reaching the store stays as it is. */
export const unavailable = (error: unknown): Error =>
  error instanceof PlantStoreError || error instanceof BrokenChainError
    ? error
    : new PlantStoreError(
        'STORE_UNAVAILABLE',
        error instanceof LogChangedError
          ? 'this instance does not serve: its log was replaced; try again'
          : 'the store cannot be reached now; try again',
        { retryAfter: 1 },
        { cause: error },
      );
