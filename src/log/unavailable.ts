import { PlantStoreError } from '../domain/errors.ts';
import { BrokenChainError } from './event/chain.ts';
import { LogChangedError } from './tail/log-changed.ts';

/** Maps a store's own error to the 503 for the caller. An error with another cause stays as it is. */
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
