import type { ServerHttp2Stream } from 'node:http2';
import type { ServerInterceptor } from '@grpc/grpc-js';

/** The library's part of a call, as an interceptor gets it. */
export type BaseCall = Parameters<ServerInterceptor>[1];

/**
 * What grpc-js has of a call and keeps to itself. It offers one limit on messages for a whole server, and no way to end a stream whose
 * client sends on after the status; tests show that both take effect.
 */
interface Internals {
  readonly stream: ServerHttp2Stream;
  readonly decoder: { maxReadMessageLength: number };
  maxReceiveMessageSize: number;
}

/** Lets a call take messages of at most so many bytes, packed and unpacked. To be called before anything is read. */
export function limitMessages(call: BaseCall, bytes: number): void {
  const internals = call as unknown as Internals;
  internals.decoder.maxReadMessageLength = bytes;
  internals.maxReceiveMessageSize = bytes;
}

/** Tells a client that has its status, and has not ended its request, to stop (RST_STREAM with NO_ERROR: RFC 9113, section 8.1). */
export function endStream(call: BaseCall): void {
  const { stream } = call as unknown as Internals;
  if (!stream.destroyed) stream.close();
}
