import { Readable } from 'node:stream';
import type { Encoder } from './encode.ts';

/** Characters of one piece of the array, so that neither memory nor a turn of the event loop grows with the array. */
const PIECE = 64 * 1024;

/**
 * A JSON array of rows that come in batches, written as fast as it is read. An error of the batches destroys the stream
 * before the closing bracket.
 */
export const arrayStream = <Row>(batches: AsyncIterable<readonly Row[]>, encode: Encoder<Row>): Readable =>
  Readable.from(piecesOf(batches, encode), { objectMode: false, highWaterMark: PIECE });

async function* piecesOf<Row>(batches: AsyncIterable<readonly Row[]>, encode: Encoder<Row>): AsyncGenerator<string> {
  let text = '[';
  let separator = '';
  for await (const batch of batches)
    for (const row of batch) {
      text += separator + encode(row);
      separator = ',';
      if (text.length < PIECE) continue;
      yield text;
      text = '';
    }
  yield `${text}]`;
}
