import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { Metadata, status as Status } from '@grpc/grpc-js';
import type { Admission } from '../admission/admission.ts';
import { dropLongLimits, isLimit } from '../call-limits.ts';
import { connectionOf, GrpcConnection } from './connection.ts';
import { ReadPace } from './read-pace.ts';

/** Most bytes of a call's metadata, counted as HTTP/2 does (RFC 9113, section 6.5.2). A token has up to 8 KiB. */
const MAX_METADATA = 16 * 1024;
/** What HTTP/2 counts for each field of metadata beside its name and value, and what it takes in memory. */
const FIELD_SIZE = 32;
const FIELD_HELD = 256;
/** Milliseconds between two checks of all connections. */
const CHECK_INTERVAL = 250;
/** How paths of the instances' calls to each other begin. These have their own bounds, and are no client's requests. */
export const INTERNAL = '/plantstore.internal.';
/** The path of reflection, whose calls take no permit, and what answers that nobody reads take of memory, at most. */
const REFLECTION = '/grpc.reflection.';
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * Takes the call of a closed stream from it. Node holds the stream, and everything that it refers to, until the next
 * full garbage collection.
 */
function release(this: ServerHttp2Stream): void {
  this.removeAllListeners('data').removeAllListeners('end');
}

/**
 * The size of metadata as HTTP/2 counts it, and what it takes in memory. Reads lengths alone: Node has joined repeated
 * headers, and to read the text would copy them.
 */
function measure(headers: IncomingHttpHeaders): { readonly size: number; readonly held: number } {
  let size = 0;
  let fields = 0;
  for (const name in headers) {
    const value = headers[name];
    const values = typeof value === 'string' ? [value] : (value ?? []);
    size += name.length;
    for (const each of values) size += FIELD_SIZE + each.length;
    fields += values.length;
  }
  return { size, held: size + fields * FIELD_HELD };
}

/** A stream as Node tells of it before anything is made of it. */
interface Begun {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
}

/** The open connections of a gRPC server. The library itself tells neither of streams that it refuses nor of sizes. */
export class GrpcConnections {
  readonly #admission: Admission;
  readonly #open = new Set<GrpcConnection>();
  readonly #pace = new ReadPace();
  readonly #methods: ReadonlySet<string>;
  /** Checks in a row that may find a connection silent. */
  readonly #mostSilent: number;
  readonly #isInstance: (headers: IncomingHttpHeaders) => boolean;
  readonly #internal = new WeakSet<ServerHttp2Stream>();
  readonly #refusals = new WeakMap<ServerHttp2Stream, CallRefusal>();
  readonly #timer = setInterval(() => this.#checkAll(), CHECK_INTERVAL).unref();
  readonly #begun = (message: unknown) => this.#opened(message as Begun);
  readonly #closed = (message: unknown) => this.#over(message as Begun);

  /**
   * `methods`: the paths of all methods that are served. There must be one before the first connection. `silence`:
   * seconds within which every client sends something, since it answers pings. `isInstance`: whether the metadata of an
   * internal call show that another instance makes it.
   */
  constructor(
    admission: Admission,
    methods: ReadonlySet<string>,
    silence: number,
    isInstance: (headers: IncomingHttpHeaders) => boolean = () => false,
  ) {
    this.#admission = admission;
    this.#methods = methods;
    this.#mostSilent = (silence * 1_000) / CHECK_INTERVAL;
    this.#isInstance = isInstance;
    subscribe('http2.server.stream.created', this.#begun);
    subscribe('http2.server.stream.close', this.#closed);
  }

  /** Keeps a connection until it closes. `serve` gives it to the library, when it is its turn. */
  add(socket: Socket, serve: () => void): void {
    const connection = new GrpcConnection(socket, this.#admission, this.#pace, serve);
    this.#open.add(connection);
    this.#pace.add(connection);
    socket.once('close', () => {
      this.#open.delete(connection);
      this.#pace.remove(connection);
    });
  }

  /** Why no method gets the call of a stream, if none does. */
  refusalOf(stream: ServerHttp2Stream): CallRefusal | undefined {
    return this.#refusals.get(stream);
  }

  /** Whether another instance makes the call of a stream. */
  isInternal(stream: ServerHttp2Stream): boolean {
    return this.#internal.has(stream);
  }

  /** Ends the checks. */
  close(): void {
    clearInterval(this.#timer);
    this.#pace.close();
    unsubscribe('http2.server.stream.created', this.#begun);
    unsubscribe('http2.server.stream.close', this.#closed);
  }

  #opened({ stream, headers }: Begun): void {
    const { session } = stream;
    const connection = this.#ownOf(stream);
    if (session === undefined || connection === undefined) return;
    const { size, held } = measure(headers);
    const path = headers[':path'] ?? '';
    const answers = path.startsWith(REFLECTION) ? MAX_ANSWER_BYTES : 0;
    connection.opened(session, stream, held + answers);
    stream.on('close', release);
    const isInternal = path.startsWith(INTERNAL) && this.#methods.has(path);
    if (isInternal && this.#isInstance(headers)) {
      connection.trusted();
      this.#internal.add(stream);
      return;
    }
    dropLongLimits(headers);
    const refusal = isInternal ? NO_INSTANCE : this.#refusal(headers, size);
    if (refusal !== undefined) this.#refuse(stream, headers, refusal);
    // Nobody reads binary metadata. The library would make an object of each comma in it: 1 MiB of 14 KiB.
    for (const name in headers)
      if (name.endsWith('-bin') || (refusal !== undefined && !NEEDED.has(name))) delete headers[name];
  }

  /** The library would refuse an unknown method at once. With the path of a known one, the call waits for its turn. */
  #refuse(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, refusal: CallRefusal): void {
    this.#refusals.set(stream, refusal);
    headers['content-type'] = GRPC;
    if (refusal.isUnmatched) headers[':path'] = this.#methods.values().next().value;
  }

  #refusal(headers: IncomingHttpHeaders, size: number): CallRefusal | undefined {
    if (!PROTOBUF.test(headers['content-type'] ?? '')) return NO_GRPC;
    if (headers[':method'] !== 'POST') return NO_POST;
    const path = headers[':path'] ?? '';
    if (!this.#methods.has(path))
      return {
        code: Status.UNIMPLEMENTED,
        details: `The server does not implement the method ${path.slice(0, MAX_PATH)}`,
        isUnmatched: true,
      };
    if (size > MAX_METADATA) return TOO_LARGE;
    if (!isLimit(headers['grpc-timeout'])) return NO_LIMIT;
    return (headers['grpc-encoding'] ?? 'identity') === 'identity' ? undefined : COMPRESSED;
  }

  #over({ stream }: Begun): void {
    this.#ownOf(stream)?.closed(stream);
  }

  /** The connection of a stream, unless it is another server's. */
  #ownOf(stream: ServerHttp2Stream): GrpcConnection | undefined {
    const connection = connectionOf(stream);
    return connection !== undefined && this.#open.has(connection) ? connection : undefined;
  }

  #checkAll(): void {
    for (const connection of this.#open) connection.check(this.#mostSilent);
  }
}

/** The status of a call that no method gets. `isUnmatched`: because there is none. */
export interface CallRefusal {
  readonly code: Status;
  readonly details: string;
  readonly metadata?: Metadata;
  readonly isUnmatched?: true;
  /** The HTTP status that is sent in its place. */
  readonly http?: number;
}

const GRPC = 'application/grpc';
/** The content types of calls. The library would take all that begin with the first one. */
const PROTOBUF = /^application\/grpc(\+proto)? *(;|$)/;
/** gRPC over HTTP/2 answers so. No client of gRPC reads it. */
const NO_GRPC: CallRefusal = {
  code: Status.INVALID_ARGUMENT,
  details: `the content type must be ${GRPC} or ${GRPC}+proto`,
  isUnmatched: true,
  http: constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE,
};
const NO_POST: CallRefusal = {
  code: Status.UNIMPLEMENTED,
  details: 'use POST',
  isUnmatched: true,
  http: constants.HTTP_STATUS_METHOD_NOT_ALLOWED,
};
const NO_LIMIT: CallRefusal = {
  code: Status.INVALID_ARGUMENT,
  details: 'grpc-timeout must be 1 to 8 digits and a unit (H, M, S, m, u or n), such as 10S',
};

const NO_INSTANCE: CallRefusal = {
  code: Status.PERMISSION_DENIED,
  details: 'this service is internal to the instances of this log',
};
const TOO_LARGE: CallRefusal = {
  code: Status.RESOURCE_EXHAUSTED,
  details: 'the metadata of a call may have at most 16 KiB',
};
/** The library would announce compressions. */
export const UNCOMPRESSED = new Metadata();
UNCOMPRESSED.set('grpc-accept-encoding', 'identity');
/** A few bytes of a compressed message could become the largest one. */
const COMPRESSED: CallRefusal = {
  code: Status.UNIMPLEMENTED,
  details: 'send messages without compression (grpc-encoding: identity)',
  metadata: UNCOMPRESSED,
};
/** Characters of an unknown path that are sent back. */
const MAX_PATH = 256;

/** The headers by which the library finds the method. */
const NEEDED: ReadonlySet<string> = new Set([':method', ':path', ':scheme', ':authority', 'content-type', 'te']);
