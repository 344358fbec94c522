import { PlantStoreError } from '../domain/errors.ts';

/** First byte of a cursor: the version of its format. */
const VERSION = 1;

/**
 * An opaque cursor that continues after this id. Because it holds the id, concurrent adds and deletes make a walk
 * neither skip nor repeat a plant.
 */
export function encodeCursor(after: bigint): string {
  const bytes = Buffer.alloc(9);
  bytes.writeUInt8(VERSION);
  bytes.writeBigInt64BE(after, 1);
  return bytes.toString('base64url');
}

/**
 * The id after which a cursor continues; undefined for the empty cursor. Throws INVALID_CURSOR unless encodeCursor made
 * it.
 */
export function decodeCursor(cursor: string): bigint | undefined {
  if (cursor === '') return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== 9 || bytes[0] !== VERSION || bytes.toString('base64url') !== cursor)
    throw new PlantStoreError('INVALID_CURSOR', 'cursor must be the next_cursor of an earlier list', {
      field: 'cursor',
    });
  return bytes.readBigInt64BE(1);
}
