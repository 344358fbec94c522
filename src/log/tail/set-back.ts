import { BrokenReadModelError } from '../store.ts';

/**
 * Returns a checkpoint that was read after one was known. Throws BrokenReadModelError when it is lower: nothing moves it
 * back but somebody who edits or restores the database. Rows as of it would lack events that the tail no longer holds.
 */
export function notSetBack(known: number, checkpoint: number): number {
  if (checkpoint < known)
    throw new BrokenReadModelError(`the read model was set back from position ${known} to ${checkpoint}`);
  return checkpoint;
}
