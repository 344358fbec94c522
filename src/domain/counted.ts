/** A number of things in words, for messages: `1 event`, `12 events`. */
export const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`;
