import { constants, type ServerHttp2Stream } from 'node:http2';
import type { ServerInterceptor } from '@grpc/grpc-js';

/** The library's side of a call, as an interceptor gets it. */
export type BaseCall = Parameters<ServerInterceptor>[1];

/** The stream of a call: a private member of the library. Tests show that these uses take effect. */
export const streamOf = (call: BaseCall): ServerHttp2Stream =>
  (call as unknown as { readonly stream: ServerHttp2Stream }).stream;

/**
 * Tells a client that has its status but has not ended its request to stop sending (RST_STREAM with NO_ERROR: RFC 9113,
 * section 8.1).
 */
export function endStream(call: BaseCall): void {
  const stream = streamOf(call);
  if (!stream.destroyed) stream.close();
}

/** Ends the stream of a call whose client does not read, and releases what was to be sent. */
export function resetStream(call: BaseCall): void {
  streamOf(call).close(constants.NGHTTP2_CANCEL);
}
