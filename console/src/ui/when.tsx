import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { localTime, zoneAt } from '../times.ts';

/** A time of the log, in the user's time zone. */
export function When({ time }: { readonly time: Timestamp }) {
  const milliseconds = timestampMs(time);
  const exact = new Date(milliseconds).toISOString();
  return (
    <time dateTime={exact} title={exact}>
      {localTime(milliseconds)}
      <span class="fraction">{exact.slice(-5, -1)}</span>
      <span class="zone"> {zoneAt(milliseconds)}</span>
    </time>
  );
}
