import type { Timestamp } from '@bufbuild/protobuf/wkt';

const two = (value: number): string => String(value).padStart(2, '0');

/** Milliseconds since the epoch of a time of the log, which has whole milliseconds. */
export const millisecondsOf = ({ seconds, nanos }: Timestamp): number => Number(seconds) * 1000 + nanos / 1_000_000;

/** Local date and time of day, to the second. */
export function localTime(milliseconds: number): string {
  const date = new Date(milliseconds);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** A time of the log, in the user's time zone and format. */
export function When({ time }: { readonly time: Timestamp }) {
  const milliseconds = millisecondsOf(time);
  const exact = new Date(milliseconds).toISOString();
  return (
    <time dateTime={exact} title={exact}>
      {localTime(milliseconds)}
      <span class="fraction">{exact.slice(-5, -1)}</span>
    </time>
  );
}
