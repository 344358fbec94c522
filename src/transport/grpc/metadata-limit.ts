import type { Http2Session, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { type Server, status as Status } from '@grpc/grpc-js';
import { UNMATCHED } from '../../observe/request.ts';
import type { RequestObserver } from '../../observe/request-observer.ts';
import { requestIdOf } from '../request-id.ts';
import { peerOf } from './connections.ts';
import { breakOff, Strangers } from './strangers.ts';

/** Most bytes of a call's metadata, counted as HTTP/2 does (RFC 9113, section 6.5.2). A token has up to 8 KiB. */
const MAX_METADATA = 16 * 1024;

/** What HTTP/2 counts for each field beside its name and value. */
const FIELD = 32;

/** What Node and the library hold for each field beside its name and value, about, in bytes. */
const FIELD_HELD = 256;

type Handle = (interceptors: unknown, stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/**
 * Private members of the server: its open connections, and two handlers, one of which gets each stream. Tests show that
 * they are asked.
 */
interface Internals {
  readonly sessions: ReadonlyMap<Http2Session, unknown>;
  _streamHandler: Handle;
  _channelzHandler: Handle;
}

/**
 * Refuses calls with more metadata before anything else is made of them, and bounds what all unknown callers hold (see
 * Strangers). Compression lets a client repeat a header of kilobytes with a byte: thousands of calls at once, without a
 * token, would fill the memory. The library has no such bound, and HTTP/2's own setting binds only clients that
 * acknowledge it. To be called before the server gets connections. `closeSoon` is called for each peer whose connection is
 * ended for what it holds: Node itself waits for clients that read nothing. Returns a timer that lasts as long as the
 * server.
 */
export function limitMetadata(
  server: Server,
  observer: RequestObserver | undefined,
  closeSoon: (peer: string) => void,
): NodeJS.Timeout {
  const internals = server as unknown as Internals;
  const strangers = new Strangers((session) => {
    const peer = peerOf(session.socket);
    breakOff(session);
    closeSoon(peer);
  });
  for (const name of ['_streamHandler', '_channelzHandler'] as const) {
    const handle = internals[name];
    internals[name] = (interceptors, stream, headers) => {
      // The client has left.
      if (stream.session === undefined || stream.session.destroyed) return;
      const { size, held } = measure(headers);
      const call = strangers.begin(stream);
      if (size > MAX_METADATA) {
        refuse(stream, observer);
        call.count(stream, 0);
      } else {
        dropBinary(headers);
        handle.call(server, interceptors, stream, headers);
        call.count(stream, held);
      }
    };
  }
  return strangers.watch(() => internals.sessions.keys());
}

/**
 * The size of metadata as HTTP/2 counts it, and what it holds in memory. Reads lengths alone: Node has joined repeated
 * headers, and to read the text would copy them.
 */
function measure(headers: IncomingHttpHeaders): { readonly size: number; readonly held: number } {
  let size = 0;
  let fields = 0;
  for (const name in headers) {
    const value = headers[name];
    const values = typeof value === 'string' ? 1 : (value?.length ?? 0);
    size += FIELD + name.length;
    if (typeof value === 'string') size += value.length;
    else for (const each of value ?? []) size += FIELD + each.length;
    fields += values;
  }
  return { size, held: size + fields * FIELD_HELD };
}

/** Nobody reads binary metadata. The library would make an object of each comma in it: 1 MiB of 14 KiB. */
function dropBinary(headers: IncomingHttpHeaders): void {
  for (const name in headers) if (name.endsWith('-bin')) delete headers[name];
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
