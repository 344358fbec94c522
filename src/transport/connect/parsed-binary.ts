import { type DescMessage, fromBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { gather } from './gather.ts';

/**
 * A body that is one message in protobuf binary. A body above `limit` bytes goes through as it is, for the reader to refuse.
 * Throws invalid_argument for what is no such message: Connect itself would answer that with 500, as if it were its own fault.
 */
export async function* parsedBinary(
  body: AsyncIterable<Buffer>,
  limit: number,
  message: DescMessage,
): AsyncGenerator<Uint8Array> {
  const bytes = await gather(body, limit);
  if (bytes.length <= limit) {
    try {
      fromBinary(message, bytes, { readUnknownFields: false });
    } catch {
      throw new ConnectError(`the body must be a ${message.typeName} in protobuf binary`, Code.InvalidArgument);
    }
  }
  yield bytes;
}
