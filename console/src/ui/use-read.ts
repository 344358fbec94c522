import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../api/trouble.ts';
import { offline } from '../reach.ts';
import { usable } from '../session.ts';

/** What was read, or why it was not. */
export interface Read<Value> {
  /** The last one. It stays while another is read. */
  readonly value: Value | undefined;
  /** Empty: none. */
  readonly problem: string;
  readonly isLoading: boolean;
  readonly retry: () => void;
}

/** Reads a value anew for each key, once that has not changed for a pause in milliseconds. Waits for a sign-in. */
export function useRead<Value>(key: string, read: (signal: AbortSignal) => Promise<Value>, pause = 0): Read<Value> {
  const { value: current } = usable;
  const [found, setFound] = useState<{ key: string; value?: Value | undefined; problem: string }>();
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    if (current === undefined) return;
    const abort = new AbortController();
    const ask = (): Promise<unknown> =>
      read(abort.signal).then(
        (value) => setFound({ key, value, problem: '' }),
        (error) => abort.signal.aborted || setFound({ key, value: found?.value, problem: messageOf(error) }),
      );
    const timer = setTimeout(ask, found === undefined ? 0 : pause);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key, current, attempt]);
  const retry = (): void => setAttempt(attempt + 1);
  const { value: isAway } = offline;
  useEffect(() => {
    // The service is back.
    if (!isAway && found && found.problem !== '') retry();
  }, [isAway]);
  const isLoading = found?.key !== key;
  return {
    value: found?.value,
    problem: isLoading ? '' : found.problem,
    isLoading,
    retry,
  };
}
