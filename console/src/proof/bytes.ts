/** Bytes that WebCrypto accepts: not in shared memory. */
export type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();

/** The UTF-8 of a text. */
export const utf8 = (text: string): Bytes => encoder.encode(text) as Bytes;

/** The text in UTF-8 bytes, including a byte order mark. Throws if they are not UTF-8. */
export const textOf = (bytes: Uint8Array): string =>
  new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);

/** All parts, one after the other. */
export function concat(parts: readonly Uint8Array[]): Bytes {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    all.set(part, end);
    end += part.length;
  }
  return all;
}

/** Whether two have the same bytes. */
export const equal = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && one.every((byte, at) => byte === other[at]);

/** Two hexadecimal digits a byte. */
export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Base64 (RFC 4648, section 4). */
export const base64Of = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));

/** The bytes in a base64 text. Throws unless the text is exactly what `base64Of` writes: the same bytes have one text. */
export function fromBase64(text: string): Bytes {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  if (base64Of(bytes) !== text) throw new Error('malformed base64');
  return bytes;
}
