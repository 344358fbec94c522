import type { Liveness } from '../live.ts';

const WORDS = { loading: 'Loading', live: 'Live', away: 'Reconnecting', failed: 'Interrupted', stopped: 'Stopped' };

/** Says whether the page is up to date. */
export function LiveChip({
  liveness: { state, message },
  isPaused,
}: {
  readonly liveness: Liveness;
  readonly isPaused?: boolean;
}) {
  const shown = isPaused === true && state === 'live' ? 'paused' : state;
  return (
    <span class={`chip ${shown}`} role="status" title={message}>
      {shown === 'paused' ? 'Paused' : WORDS[state]}
    </span>
  );
}
