import { PlantStoreError } from '../domain/errors.ts';
import { BrokenChainError } from './event/chain.ts';
import { BrokenReadModelError, LogReplacedError, LostRecordError, MalformedRowError } from './store.ts';
import { BrokenTreeError } from './tree/nodes.ts';

/**
 * No checkpoint can be signed, because a file of the data directory cannot be used: the key, or the checkpoint that was
 * signed last. Its message is for operators, and the same for as long as the cause is.
 */
export class CannotSignError extends Error {
  override readonly name = 'CannotSignError';
}

/** Errors that are a state of the store. The instance logs each when it begins, and when it is over. */
const STATES = [LogReplacedError, BrokenReadModelError, LostRecordError, BrokenTreeError, CannotSignError];

/** Whether an error is one of STATES, which need not be logged with every request. */
export const isToldOnce = (error: unknown): boolean => STATES.some((kind) => error instanceof kind);

/** Errors of the code, which no waiting mends. Callers get INTERNAL, and the service's log gets them whole. */
const DEFECTS = [TypeError, RangeError, ReferenceError, SyntaxError];

const isDefect = (error: unknown): error is Error => DEFECTS.some((kind) => error instanceof kind);

/** Maps a store's own error to the 503 for the caller. An error with another cause stays as it is. */
export const unavailable = (error: unknown): Error =>
  error instanceof PlantStoreError || error instanceof BrokenChainError || isDefect(error)
    ? error
    : new PlantStoreError('STORE_UNAVAILABLE', messageOf(error), {}, { cause: error });

function messageOf(error: unknown): string {
  if (error instanceof LogReplacedError) return 'this instance does not serve, because its log was replaced; try again';
  if (error instanceof BrokenReadModelError || error instanceof MalformedRowError)
    return 'the plants cannot be read now; try again';
  if (error instanceof LostRecordError)
    return 'no checkpoint can be signed until the id of the log is restored; try again';
  if (error instanceof BrokenTreeError)
    return 'the stored log differs from what was signed, so no proof is possible; tell the operator';
  if (error instanceof CannotSignError)
    return 'this instance can sign no checkpoint now, because a file that it needs for that cannot be used; tell the operator';
  return 'the store cannot be reached now; try again';
}
