/** A moment for people, to the minute. */
export const momentOf = (milliseconds: number): string =>
  `${new Date(milliseconds).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

/** A number of events for people. */
export const eventCount = (count: number): string => `${count.toLocaleString('en')} event${count === 1 ? '' : 's'}`;
