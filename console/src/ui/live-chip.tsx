import type { Liveness } from '../live.ts';
import { usable } from '../session.ts';

const WORDS = {
  loading: 'Loading',
  live: 'Live',
  paused: 'Paused',
  away: 'Reconnecting',
  failed: 'Interrupted',
  stopped: 'Stopped',
};

interface LiveChipProps {
  readonly liveness: Liveness;
  readonly isPaused?: boolean;
}

/** Says whether the page is up to date. */
export function LiveChip({ liveness: { state, message }, isPaused }: LiveChipProps) {
  const isEnded = state === 'loading' && usable.value === undefined;
  const shown = isEnded ? 'stopped' : isPaused === true && state === 'live' ? 'paused' : state;
  return (
    <span class={`chip ${shown}`} role="status">
      {WORDS[shown]}
      {message && `: ${message}`}
    </span>
  );
}
