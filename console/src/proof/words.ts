/** A number of events for people. */
export const eventCount = (count: number): string => `${count.toLocaleString('en')} event${count === 1 ? '' : 's'}`;
