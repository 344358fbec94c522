import type { ServerHttp2Stream } from 'node:http2';
import type { ServerInterceptor } from '@grpc/grpc-js';
import { knownCaller } from './strangers.ts';

/** The library's side of a call, as an interceptor gets it. */
export type BaseCall = Parameters<ServerInterceptor>[1];

/**
 * Private members of grpc-js calls. The library offers one message limit for a whole server, and no way to end a stream
 * whose client keeps sending after the status, or to get the stream of a call. Tests show that these uses take effect.
 */
interface Internals {
  readonly stream: ServerHttp2Stream;
  readonly decoder: { maxReadMessageLength: number };
  maxReceiveMessageSize: number;
}

/** Sets the most bytes of a call's messages, compressed and decompressed. Call it before anything is read. */
export function limitMessages(call: BaseCall, bytes: number): void {
  const internals = call as unknown as Internals;
  internals.decoder.maxReadMessageLength = bytes;
  internals.maxReceiveMessageSize = bytes;
}

/**
 * Tells a client that has its status but has not ended its request to stop sending (RST_STREAM with NO_ERROR: RFC 9113,
 * section 8.1).
 */
export function endStream(call: BaseCall): void {
  const { stream } = call as unknown as Internals;
  if (!stream.destroyed) stream.close();
}

/** The call counts no more as one of an unknown caller. */
export const callerIsKnown = (call: BaseCall): void => knownCaller((call as unknown as Internals).stream);
