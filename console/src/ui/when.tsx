import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { localTime, zoneAt } from '../times.ts';

/** Milliseconds since the epoch of a time of the log, which has whole milliseconds. */
export const millisecondsOf = ({ seconds, nanos }: Timestamp): number => Number(seconds) * 1000 + nanos / 1_000_000;

/** A time of the log, in the user's time zone. */
export function When({ time }: { readonly time: Timestamp | number }) {
  const milliseconds = typeof time === 'number' ? time : millisecondsOf(time);
  const exact = new Date(milliseconds).toISOString();
  return (
    <time dateTime={exact} title={exact}>
      {localTime(milliseconds)}
      <span class="fraction">{exact.slice(-5, -1)}</span>
      <span class="zone"> {zoneAt(milliseconds)}</span>
    </time>
  );
}
