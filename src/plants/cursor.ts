import { PlantStoreError } from '../domain/errors.ts';

/** First byte of a cursor, so that its form can change. */
const VERSION = 1;

/** An opaque cursor: go on after this id. A keyset, so adds and deletes in between neither skip nor repeat a plant. */
export function encodeCursor(after: bigint): string {
  const bytes = Buffer.alloc(9);
  bytes.writeUInt8(VERSION);
  bytes.writeBigInt64BE(after, 1);
  return bytes.toString('base64url');
}

/** The id that a cursor goes on after; undefined for the empty cursor. Throws INVALID_CURSOR for what encodeCursor never made. */
export function decodeCursor(cursor: string): bigint | undefined {
  if (cursor === '') return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== 9 || bytes[0] !== VERSION || bytes.toString('base64url') !== cursor)
    throw new PlantStoreError('INVALID_CURSOR', 'cursor must be one that an earlier list returned', {
      field: 'cursor',
    });
  return bytes.readBigInt64BE(1);
}
