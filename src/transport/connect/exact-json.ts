import { isUtf8 } from 'node:buffer';
import { Code, ConnectError } from '@connectrpc/connect';
import { gather } from './gather.ts';

/**
 * A body of JSON whose integers survive JSON.parse: one that a double cannot hold for certain is turned into a string, which the
 * JSON form of protobuf takes for an int64 as well. Without this, 9007199254740993 would become the id of another plant.
 * A body above `limit` bytes goes through as it is, for the reader to refuse. Throws invalid_argument for what is not UTF-8.
 */
export async function* exactJson(body: AsyncIterable<Buffer>, limit: number): AsyncGenerator<Uint8Array> {
  const bytes = await gather(body, limit);
  if (bytes.length > limit) {
    yield bytes;
    return;
  }
  if (!isUtf8(bytes)) throw new ConnectError('the body must be encoded in UTF-8', Code.InvalidArgument);
  const text = bytes.toString();
  yield MAYBE_LARGE.test(text) ? Buffer.from(quoteLargeNumbers(text)) : bytes;
}

/** Sixteen digits in a row, maybe with a point, or an exponent: without one of them, every number is exact. */
const MAYBE_LARGE = /[\d.]{16}|\d[eE]/;

const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

const quoteLargeNumbers = (text: string): string =>
  text.replace(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') || Math.abs(Number(token)) <= Number.MAX_SAFE_INTEGER ? token : `"${token}"`,
  );
