const two = (value: number): string => String(value).padStart(2, '0');

/** Local date and time of day, to the second. */
export function localTime(milliseconds: number): string {
  const date = new Date(milliseconds);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** The user's time zone at a moment, such as `UTC+5:30`. */
export function zoneAt(milliseconds: number): string {
  const east = -new Date(milliseconds).getTimezoneOffset();
  if (east === 0) return 'UTC';
  const minutes = Math.abs(east) % 60;
  return `UTC${east < 0 ? '−' : '+'}${Math.floor(Math.abs(east) / 60)}${minutes === 0 ? '' : `:${two(minutes)}`}`;
}

/** A moment in a sentence, to the minute. */
export const momentOf = (milliseconds: number): string =>
  `${localTime(milliseconds).slice(0, 16)} ${zoneAt(milliseconds)}`;
