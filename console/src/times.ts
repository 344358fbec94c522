const two = (value: number): string => String(value).padStart(2, '0');

/** Local date and time of day, to the second. */
export function localTime(milliseconds: number): string {
  const date = new Date(milliseconds);
  const day = `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

const ZONE = new Intl.DateTimeFormat('en', { timeZoneName: 'shortOffset' });

/** The user's time zone at a moment, such as `UTC+5:30`. */
export const zoneAt = (milliseconds: number): string =>
  ZONE.formatToParts(milliseconds)
    .find(({ type }) => type === 'timeZoneName')!
    .value.replace('GMT', 'UTC');

/** A moment as a field of the type `datetime-local` has it, in the user's time zone; empty: none. */
export const fieldOfTime = (text: string): string => {
  const milliseconds = Date.parse(text);
  // A field drops seconds that are 0.
  return Number.isNaN(milliseconds) ? '' : localTime(milliseconds).replace(' ', 'T').replace(/:00$/, '');
};

/** The moment of such a field in UTC, for an address; empty: none. */
export const timeOfField = (text: string): string => (text === '' ? '' : new Date(text).toISOString());

/** A moment in a sentence, to the minute. */
export const momentOf = (milliseconds: number): string =>
  `${localTime(milliseconds).slice(0, 16)} ${zoneAt(milliseconds)}`;
