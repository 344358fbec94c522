import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { type Server, status as Status } from '@grpc/grpc-js';
import { UNMATCHED } from '../../observe/request.ts';
import type { RequestObserver } from '../../observe/request-observer.ts';
import { requestIdOf } from '../request-id.ts';

/** Most bytes of a call's metadata, counted as HTTP/2 does (RFC 9113, section 6.5.2). A token has up to 8 KiB. */
const MAX_METADATA = 16 * 1024;

/** What HTTP/2 counts for each field beside its name and value. */
const FIELD = 32;

type Handle = (interceptors: unknown, stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/** Private members of the server: whichever of them it uses gets each stream. A test shows that they are asked. */
interface Internals {
  _streamHandler: Handle;
  _channelzHandler: Handle;
}

/**
 * Refuses calls with more metadata, before anything else is made of them. Compression lets a client repeat a header of
 * kilobytes with a byte: thousands of calls at once, without a token, would fill the memory. The library has no such
 * bound, and HTTP/2's own setting binds only clients that acknowledge it. To be called before the server gets
 * connections.
 */
export function limitMetadata(server: Server, observer: RequestObserver | undefined): void {
  const internals = server as unknown as Internals;
  for (const name of ['_streamHandler', '_channelzHandler'] as const) {
    const handle = internals[name];
    internals[name] = (interceptors, stream, headers) => {
      if (sizeOf(headers) <= MAX_METADATA) handle.call(server, interceptors, stream, headers);
      else refuse(stream, observer);
    };
  }
}

/** Reads lengths alone: Node has joined repeated headers, and to read the text would copy them. */
function sizeOf(headers: IncomingHttpHeaders): number {
  let size = 0;
  for (const name in headers) {
    const value = headers[name];
    size += FIELD + name.length;
    if (typeof value === 'string') size += value.length;
    else for (const each of value ?? []) size += FIELD + each.length;
  }
  return size;
}

function refuse(stream: ServerHttp2Stream, observer: RequestObserver | undefined): void {
  stream.on('error', () => {});
  stream.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc',
      'grpc-status': Status.RESOURCE_EXHAUSTED,
      'grpc-message': 'the metadata of a call may have 16 KiB',
    },
    { endStream: true },
  );
  stream.close();
  observer?.ended({
    protocol: 'grpc',
    method: 'POST',
    route: UNMATCHED,
    status: 'RESOURCE_EXHAUSTED',
    seconds: 0,
    bytes: 0,
    requestId: requestIdOf(undefined),
    principal: undefined,
    failure: undefined,
    traceId: undefined,
  });
}
