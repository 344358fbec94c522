/** What an id is, in REST's words. */
export const AN_ID = `an integer from ${-(2n ** 63n)} to ${2n ** 63n - 1n}`;

/** The id of a text, any int64; undefined where it is none. */
export function idOf(text: string): bigint | undefined {
  if (!/^-?\d{1,19}$/.test(text.trim())) return undefined;
  const id = BigInt(text.trim());
  return BigInt.asIntN(64, id) === id ? id : undefined;
}

/** The position of a text, from 1 up; undefined where it is none. */
export const positionOf = (text: string): bigint | undefined =>
  /^[1-9]\d{0,17}$/.test(text.trim()) ? BigInt(text.trim()) : undefined;

/** A number of things for people: `1 event`, `1,200 events`. */
export const counted = (count: number, thing: string): string =>
  `${count.toLocaleString('en')} ${thing}${count === 1 ? '' : 's'}`;
