import { PlantStoreError } from '../domain/errors.ts';

/** First byte of a cursor: the version of its format. */
const VERSION = 1;

/** A cursor that continues after this id: adds and deletes meanwhile make a walk neither skip nor repeat a plant. */
export function encodeCursor(after: bigint): string {
  const bytes = Buffer.alloc(9);
  bytes.writeUInt8(VERSION);
  bytes.writeBigInt64BE(after, 1);
  return bytes.toString('base64url');
}

/** The id after which a cursor continues. Undefined: the empty one. Throws INVALID_CURSOR for any other text. */
export function decodeCursor(cursor: string): bigint | undefined {
  if (cursor === '') return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== 9 || bytes[0] !== VERSION || bytes.toString('base64url') !== cursor)
    throw new PlantStoreError(
      'INVALID_CURSOR',
      'cursor must be taken from an earlier list: its next_cursor, or over REST its Link header',
      { field: 'cursor' },
    );
  return bytes.readBigInt64BE(1);
}
