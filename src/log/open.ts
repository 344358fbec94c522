import { Backoff } from '../time/backoff.ts';
import { pause } from '../time/pause.ts';
import { BrokenChainError } from './event/chain.ts';
import { type EventLog, type EventLogOptions, openLog } from './log.ts';
import { BrokenReadModelError, LostRecordError, type Store } from './store.ts';

/** First and longest pause between two attempts, in milliseconds. */
const FIRST_PAUSE = 200;
const MAX_PAUSE = 2_000;

/** Errors of what is stored, which waiting does not change. */
const PERMANENT = [BrokenChainError, LostRecordError, BrokenReadModelError];

/** A store to open, and which errors of opening are final. */
export interface StoreToOpen {
  open(): Promise<Store>;
  /** Whether an error of opening is permanent, so that waiting does not help. */
  isFinal(error: unknown): boolean;
}

/** A log and its store. */
export interface OpenedLog {
  readonly store: Store;
  readonly log: EventLog;
}

/**
 * Opens the log on a store that may not be reachable yet. Retries until it succeeds, calls `onWait` with each fault,
 * and gives up when the signal aborts. Rejects at once with permanent errors: BrokenChainError, LostRecordError,
 * BrokenReadModelError, and those that `isFinal` names.
 */
export async function openWhenReachable(
  { open, isFinal }: StoreToOpen,
  options: EventLogOptions,
  signal: AbortSignal,
  onWait: (fault: unknown) => void,
): Promise<OpenedLog> {
  const backoff = new Backoff(FIRST_PAUSE, MAX_PAUSE);
  for (;;) {
    try {
      const store = await open();
      try {
        return { store, log: await openLog(store, options) };
      } catch (error) {
        await store.close().catch(() => {});
        throw error;
      }
    } catch (error) {
      if (PERMANENT.some((kind) => error instanceof kind) || isFinal(error)) throw error;
      onWait(error);
    }
    await pause(backoff.next(), signal);
    signal.throwIfAborted();
  }
}
