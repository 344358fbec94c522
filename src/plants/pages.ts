import { PlantStoreError } from '../domain/errors.ts';
import { textLength } from '../domain/plant.ts';
import { runs } from '../log/batches.ts';
import type { PlantRow } from '../log/store.ts';

/** Most plants that one message holds. */
export const MAX_PAGE_PLANTS = 1_000;

/** Most bytes of plants in a message. By default, gRPC clients accept no message above 4 MiB. */
const MAX_PAGE_BYTES = 1024 * 1024;

/** Most bytes of plants in a piece of an answer that comes in pieces. To encode one takes some milliseconds at most. */
export const MAX_PIECE_BYTES = 64 * 1024;

/** Most bytes of UTF-8 that one UTF-16 code unit takes. */
const BYTES_PER_CODE_UNIT = 3;

/** The rows of the first page, and at least one more if any follow. Reads no further batch than that takes. */
export async function beyondFirstPage(batches: AsyncIterable<readonly PlantRow[]>): Promise<readonly PlantRow[]> {
  const rows: PlantRow[] = [];
  for await (const batch of batches) {
    rows.push(...batch);
    const [, second] = pages(rows);
    if (second !== undefined) break;
  }
  return rows;
}

/** Splits rows into pages of one message each: at most MAX_PAGE_PLANTS rows, and `most` bytes of text or one row. */
export const pages = (rows: readonly PlantRow[], most = MAX_PAGE_BYTES): Generator<readonly PlantRow[]> =>
  runs(rows, (row) => BYTES_PER_CODE_UNIT * textLength(row), most, MAX_PAGE_PLANTS);

/** First byte of a cursor: the version of its format. */
const CURSOR_VERSION = 1;

/** A cursor that continues after this id: adds and deletes meanwhile make a walk neither skip nor repeat a plant. */
export function encodeCursor(after: bigint): string {
  const bytes = Buffer.alloc(9);
  bytes.writeUInt8(CURSOR_VERSION);
  bytes.writeBigInt64BE(after, 1);
  return bytes.toString('base64url');
}

/** The id after which a cursor continues. Undefined: the empty one. Throws INVALID_CURSOR for any other text. */
export function decodeCursor(cursor: string): bigint | undefined {
  if (cursor === '') return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== 9 || bytes[0] !== CURSOR_VERSION || bytes.toString('base64url') !== cursor)
    throw new PlantStoreError(
      'INVALID_CURSOR',
      'cursor must be taken from an earlier list: its next_cursor, or over REST its Link header',
      { field: 'cursor' },
    );
  return bytes.readBigInt64BE(1);
}
