import { Code, ConnectError } from '@connectrpc/connect';
import { JsonText } from '../../json/json-text.ts';
import { gather } from './gather.ts';

/**
 * A body of JSON whose integers survive JSON.parse: one that a double does not hold is turned into a string, which the JSON form
 * of protobuf takes for an int64 as well. Without this, 9007199254740993 would become the id of another plant.
 * A body above `limit` bytes goes through as it is, for the reader to refuse. Throws invalid_argument for what is not JSON in
 * UTF-8, or names a member twice.
 */
export async function* exactJson(body: AsyncIterable<Buffer>, limit: number): AsyncGenerator<Uint8Array> {
  const bytes = await gather(body, limit);
  yield bytes.length > limit ? bytes : Buffer.from(read(bytes).withInexactNumbersQuoted());
}

function read(bytes: Buffer): JsonText {
  try {
    return new JsonText(bytes);
  } catch (error) {
    throw new ConnectError(`the body is ${(error as SyntaxError).message}`, Code.InvalidArgument);
  }
}
