import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { constants, type Http2Session, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { status as Status } from '@grpc/grpc-js';
import type { Admission } from '../admission/admission.ts';
import { type Caller, Connection } from '../admission/connection.ts';
import { MAX_MESSAGE } from '../message-limits.ts';
import { HANDSHAKE_HELD } from './handshakes.ts';
import { Wire } from './wire.ts';

/** Most bytes of a call's metadata, counted as HTTP/2 does (RFC 9113, section 6.5.2). A token has up to 8 KiB. */
const MAX_METADATA = 16 * 1024;
/** What HTTP/2 counts for each field beside its name and value. */
const FIELD = 32;
/** What a stream takes in memory beside its metadata and message, and what each field of its metadata takes. */
const STREAM = 4 * 1024;
const FIELD_HELD = 256;
/** Most bytes of headers that have no end yet: HTTP/2 refuses more. */
const MAX_UNFINISHED = 128 * 1024;
/** Milliseconds between two looks at what connections have sent. */
const LOOK = 250;
/** Milliseconds for a client to read why its connection ends. */
const FAREWELL = 1_000;
/**
 * Calls of a connection between two looks that its client may reset in the turn of the event loop in which they began,
 * after others of that turn were reset: so a client whose calls expired before they were read may reset all of them,
 * once. Node hands over all of a piece at once, and bounds resets at a thousand.
 */
const MOST_RESET = 16;
/**
 * Pieces of a request's message that are too small to be honest: each costs as much as a large one. So many on a
 * connection between two looks end it. The first ones of a stream may be small: clients send a message's length alone.
 */
const SMALL = 64;
const FIRST_PIECES = 4;
const MOST_SMALL = 256;
/** The path of reflection, whose calls take no permit, and what answers that nobody reads take of memory, at most. */
const REFLECTION = '/grpc.reflection.';
const MOST_ANSWERS = 64 * 1024;
/** What the library keeps of a small piece until its message is whole. */
const PIECE_HELD = 256;

/**
 * Connections of an owner for which TLS does not count as memory: so any number of owners may have some, and none takes
 * the memory of thousands.
 */
const SPARED = 16;

/**
 * Most bytes that are parsed in a turn: of a connection on which a token was verified, and of any other. Few bytes can
 * be dear, as headers that refer to earlier ones are, or settings that change the windows of all calls. It is enough
 * for a client's first frames and its question about health.
 */
const PIECE = 16 * 1024;
const SMALL_PIECE = 1024;
/** Calls that wait for their turn on a connection, beyond which no more is parsed of it. */
const MOST_CALLS = 16;
/** Bytes that wait to be parsed beyond which no more are read. Node reads up to 64 KiB at once. */
const MOST_WAITING = 64 * 1024;

/**
 * Milliseconds that count in a turn for each call that begins, beside what it does there: for what Node and the library
 * do to make it, and to end it.
 */
const CALL = 0.03;

const CONNECTION = Symbol('connection');

/** The connection of a stream, which Node's adapter of its wire names. Undefined once its session is destroyed. */
export const connectionOf = ({ session }: ServerHttp2Stream): GrpcConnection | undefined =>
  session === undefined || session.destroyed
    ? undefined
    : (session.socket as { stream?: { [CONNECTION]?: GrpcConnection } }).stream?.[CONNECTION];

/** A stream that is open: what its metadata takes, and the turn in which it began. */
interface OpenStream {
  readonly held: number;
  readonly turn: number;
  /** Whether others that began in that turn were reset before it began. */
  readonly isAfterReset: boolean;
  /** Bytes of its answer that were not read at the last look. */
  unread: number;
  /** Bytes of rows that it will send. */
  rows: number;
}

/** A call that waits for its turn. */
export interface WaitingCall {
  /** When it began to wait, by the clock of Turns. */
  since: number;
  /** Whether it asks for the health of the instance, and is never late. */
  readonly isProbe: boolean;
  /** It is its turn. `isLate`: it has waited too long. */
  begin(isLate: boolean): void;
}

/**
 * A connection over HTTP/2. It stands between its socket and Node's session: the session gets a piece of the bytes when
 * it is the connection's turn, and none while many calls wait. Each call begins when it is its turn again, unless it is
 * the first one of a piece and no other waits. It counts what its streams hold, also those that the library refuses,
 * and headers without an end, for which there is no stream yet.
 */
export class GrpcConnection extends Connection {
  readonly protocol = 'grpc';
  readonly #socket: Socket;
  readonly #admission: Admission;
  /** Gives its wire to the library. Undefined once it has it. */
  #serve: ((wire: Wire) => void) | undefined;
  readonly #wire: Wire;
  readonly #calls: WaitingCall[] = [];
  /** Bytes that are not parsed yet. */
  #bytes: Buffer | undefined;
  #isPaused = false;
  /** The piece that was parsed last: its length, whether it was late, and whether it has begun no call yet. */
  #piece = 0;
  #isLate = false;
  #mayBegin = false;
  /** Bytes that were parsed since it was opened, or asked for health. */
  #uncalled = 0;
  readonly #streams = new Map<ServerHttp2Stream, OpenStream>();
  #session: Http2Session | undefined;
  /** What the metadata and rows of its streams take. */
  #streamHeld = 0;
  /** Bytes that were parsed and not ended in the headers of a stream, at most. */
  #unfinished = 0;
  /** What incomplete requests took at the last look, at most. */
  #incomplete = 0;
  /** Bytes of answers that the client had read neither at the last look nor at the one before. */
  #unread = 0;
  /** The turns in which streams began, whether one of this turn was reset, and the resets since the last look. */
  #turn = 0;
  #isTurn = false;
  #hasReset = false;
  #reset = 0;
  /** What TLS takes. */
  readonly #tls: number;
  /** The owner who is spared this. */
  #sparedTo: Caller | undefined;
  /** Small pieces since the last look, and since all requests were whole. */
  #small = 0;
  #kept = 0;

  /** Takes a socket that was just accepted, and paused. `serve` gives its wire to the library, when it is its turn. */
  constructor(socket: Socket, admission: Admission, serve: (wire: Wire) => void) {
    super(admission.fresh.grpc);
    this.#socket = socket;
    this.#admission = admission;
    this.#serve = serve;
    this.#wire = new Wire(socket);
    (this.#wire as { [CONNECTION]?: GrpcConnection })[CONNECTION] = this;
    socket.once('close', () => this.#close());
    this.#tls = socket instanceof TLSSocket ? HANDSHAKE_HELD : 0;
    admission.opened(this);
    this.#count();
    admission.turns.add(this);
  }

  /**
   * Lets a call begin: at once if it is the first one of the piece whose turn it is and no other waits, or at its turn.
   */
  add(call: WaitingCall): void {
    if (call.isProbe) {
      this.#admission.begins(this, true);
      this.#uncalled = 0;
    }
    if (this.#mayBegin) {
      this.#mayBegin = false;
      this.#begin(call, this.#isLate);
      return;
    }
    call.since = this.#admission.turns.clock;
    this.#calls.push(call);
    this.#admission.turns.add(this);
  }

  #begin(call: WaitingCall, isLate: boolean): void {
    if (!call.isProbe) this.#admission.begins(this);
    this.#admission.turns.follows(CALL);
    call.begin(!call.isProbe && isLate);
  }

  /** The token of a call belongs to this owner. Throws RATE_LIMITED. */
  verified(owner: string): void {
    this.#admission.verified(this, owner);
    this.#spare();
    this.#count();
  }

  /** A call shows that the connection is another instance's. */
  trusted(): void {
    this.#admission.trusted(this);
    this.#spare();
    this.#count();
  }

  override work(isLate: boolean): boolean {
    if (this.#socket.destroyed) return false;
    if (this.#serve !== undefined) this.#open(this.#serve);
    else if (this.#bytes !== undefined && this.#calls.length < MOST_CALLS) this.#parsePiece(this.#bytes, isLate);
    else this.#beginNext();
    return this.#calls.length > 0 || this.#bytes !== undefined;
  }

  #open(serve: (wire: Wire) => void): void {
    this.#serve = undefined;
    serve(this.#wire);
    this.#socket.on('data', (bytes) => this.#receive(bytes)).resume();
  }

  #receive(bytes: Buffer): void {
    this.#bytes = this.#bytes === undefined ? bytes : Buffer.concat([this.#bytes, bytes]);
    if (this.#bytes.length >= MOST_WAITING) {
      this.#isPaused = true;
      this.#socket.pause();
    }
    // So that no client is the one that holds most because it has gone on.
    if (this.#bytes.length > SMALL_PIECE) this.#count();
    this.#admission.turns.add(this);
  }

  #beginNext(): void {
    const call = this.#calls.shift();
    const { turns, maxWait } = this.#admission;
    if (call !== undefined) this.#begin(call, turns.clock - call.since > maxWait);
  }

  #parsePiece(bytes: Buffer, isLate: boolean): void {
    const piece = bytes.subarray(0, this.caller.owner === '' ? SMALL_PIECE : PIECE);
    this.#bytes = piece.length === bytes.length ? undefined : bytes.subarray(piece.length);
    this.#piece = piece.length;
    this.#isLate = isLate;
    this.#mayBegin = this.#calls.length === 0;
    this.#unfinished += piece.length;
    this.#uncalled += piece.length;
    // Who sends more is no new client, and asks for more than health.
    if (this.#uncalled > SMALL_PIECE) this.#admission.begins(this);
    this.#wire.handOver(piece);
    if (this.#bytes !== undefined || !this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  override end(): void {
    this.#session?.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.#session?.destroy();
    // Node itself waits for clients that read nothing.
    if (this.#session === undefined) this.#socket.destroy();
    else setTimeout(() => this.#socket.destroy(), FAREWELL).unref();
  }

  /** A stream begins, whose metadata takes so much memory. */
  opened(session: Http2Session, stream: ServerHttp2Stream, held: number): void {
    if (this.#session === undefined) {
      session.prependListener('stream', keepAuthorizations);
      this.#wire.attach(session);
    }
    this.#session = session;
    if (!this.#isTurn) this.#beginTurn();
    this.#unfinished = this.#piece;
    this.#streams.set(stream, { held, turn: this.#turn, isAfterReset: this.#hasReset, unread: 0, rows: 0 });
    this.#countPieces(stream);
    this.#streamHeld += held;
    this.#count();
  }

  /** A stream has so many bytes in memory beside those that are being sent. */
  holds(stream: ServerHttp2Stream, bytes: number): void {
    const open = this.#streams.get(stream);
    if (open === undefined) return;
    this.#streamHeld += bytes - open.rows;
    open.rows = bytes;
    this.#count();
  }

  /** A stream is closed. */
  closed(stream: ServerHttp2Stream): void {
    const open = this.#streams.get(stream);
    if (open === undefined) return;
    this.#streamHeld -= open.held + open.rows;
    this.#streams.delete(stream);
    if (this.#isTurn && open.turn === this.#turn) this.#countReset(open);
    this.#count();
  }

  /** Counts what has arrived since the last look, and what was not read since. */
  look(): void {
    this.#small = 0;
    this.#reset = 0;
    let incomplete = 0;
    this.#unread = 0;
    for (const [stream, open] of this.#streams) {
      if (isIncomplete(stream)) incomplete++;
      const { writableLength } = stream;
      this.#unread += Math.min(open.unread, writableLength);
      open.unread = writableLength;
    }
    if (incomplete === 0) this.#kept = 0;
    this.#incomplete = incomplete * MAX_MESSAGE + this.#kept * PIECE_HELD;
    this.#count();
  }

  /** Its calls would wait for turns in which nothing is left to do. */
  #close(): void {
    this.#calls.length = 0;
    this.#bytes = undefined;
    this.#admission.closed(this);
    if (this.#sparedTo !== undefined) this.#sparedTo.spared--;
  }

  /** Lets what TLS takes count no more, if its owner has few connections of which it does not. */
  #spare(): void {
    if (this.#tls === 0 || this.#sparedTo === this.caller || this.#socket.destroyed) return;
    if (this.#sparedTo !== undefined) this.#sparedTo.spared--;
    this.#sparedTo = this.caller.spared < SPARED ? this.caller : undefined;
    if (this.#sparedTo !== undefined) this.caller.spared++;
  }

  #beginTurn(): void {
    this.#isTurn = true;
    this.#hasReset = false;
    setImmediate(() => {
      this.#isTurn = false;
      this.#turn++;
    });
  }

  #countReset({ isAfterReset }: OpenStream): void {
    this.#hasReset = true;
    if (isAfterReset) this.#reset++;
    if (this.#reset > MOST_RESET) this.#endAtOnce();
  }

  /** Node pushes each frame of a message into its stream. */
  #countPieces(stream: ServerHttp2Stream): void {
    const push = stream.push;
    let pieces = 0;
    stream.push = (piece: Buffer | null) => {
      if (piece !== null && ++pieces > FIRST_PIECES && piece.length < SMALL) this.#countSmall();
      return push.call(stream, piece);
    };
  }

  #countSmall(): void {
    this.#small++;
    this.#kept++;
    if (this.#small > MOST_SMALL) this.#endAtOnce();
  }

  #endAtOnce(): void {
    this.#session?.destroy();
    this.#socket.destroy();
  }

  #count(): void {
    const streams = this.#streams.size * STREAM + this.#streamHeld;
    const tls = this.#sparedTo === undefined ? this.#tls : 0;
    // All that was read at once stays as long as any of it.
    const bytes = Math.min(this.#unfinished, MAX_UNFINISHED) + (this.#bytes?.buffer.byteLength ?? 0);
    this.#admission.memory.set(this, tls + bytes + streams + this.#incomplete + this.#unread);
  }
}

/**
 * Takes the call of a closed stream from it. Node holds the stream, and everything that it refers to, until the next
 * full garbage collection.
 */
function release(this: ServerHttp2Stream): void {
  this.removeAllListeners('data').removeAllListeners('end');
}

/** Puts back every Authorization field of a stream: Node keeps the first one, and a call must have one alone. */
function keepAuthorizations(_stream: unknown, headers: IncomingHttpHeaders, _flags: unknown, raw: string[]): void {
  const tokens = raw.filter((_, index) => index % 2 === 1 && raw[index - 1] === 'authorization');
  // The library takes a list of values for every field.
  if (tokens.length > 1) Object.assign(headers, { authorization: tokens });
}

/** Whether the rest of a request is awaited. Until it is there, the library or Node holds what has come. */
const isIncomplete = ({ state: { state } }: ServerHttp2Stream): boolean =>
  state !== undefined && state !== constants.NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE;

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
    for (const each of values) size += FIELD + each.length;
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
  readonly #methods: ReadonlySet<string>;
  readonly #refusals = new WeakMap<ServerHttp2Stream, Refusal>();
  readonly #timer: NodeJS.Timeout;
  readonly #begun = (message: unknown) => this.#opened(message as Begun);
  readonly #closed = (message: unknown) => this.#over(message as Begun);

  /** `methods`: the paths of all methods that are served. There must be one before the first connection. */
  constructor(admission: Admission, methods: ReadonlySet<string>) {
    this.#admission = admission;
    this.#methods = methods;
    subscribe('http2.server.stream.created', this.#begun);
    subscribe('http2.server.stream.close', this.#closed);
    this.#timer = setInterval(() => this.#look(), LOOK).unref();
  }

  /** Keeps a connection until it closes. `serve` gives it to the library, when it is its turn. */
  add(socket: Socket, serve: (wire: Wire) => void): void {
    const connection = new GrpcConnection(socket, this.#admission, serve);
    this.#open.add(connection);
    socket.once('close', () => this.#open.delete(connection));
  }

  /** Why no method gets the call of a stream, if none does. */
  refusalOf(stream: ServerHttp2Stream): Refusal | undefined {
    return this.#refusals.get(stream);
  }

  /** Looks no more. */
  close(): void {
    clearInterval(this.#timer);
    unsubscribe('http2.server.stream.created', this.#begun);
    unsubscribe('http2.server.stream.close', this.#closed);
  }

  #opened({ stream, headers }: Begun): void {
    const { session } = stream;
    const connection = this.#ownOf(stream);
    if (session === undefined || connection === undefined) return;
    const { size, held } = measure(headers);
    const answers = headers[':path']?.startsWith(REFLECTION) ? MOST_ANSWERS : 0;
    connection.opened(session, stream, held + answers);
    stream.on('close', release);
    const refusal = this.#refusal(headers, size);
    if (refusal !== undefined) {
      this.#refusals.set(stream, refusal);
      // The library itself would answer a method that it does not know, at once: so a call of one takes another's way.
      if (refusal.isUnmatched) headers[':path'] = this.#methods.values().next().value;
    }
    // Nobody reads binary metadata. The library would make an object of each comma in it: 1 MiB of 14 KiB.
    for (const name in headers)
      if (name.endsWith('-bin') || (refusal !== undefined && !NEEDED.has(name))) delete headers[name];
  }

  #refusal(headers: IncomingHttpHeaders, size: number): Refusal | undefined {
    const path = headers[':path'] ?? '';
    if (!this.#methods.has(path))
      return {
        code: Status.UNIMPLEMENTED,
        details: `The server does not implement the method ${path.slice(0, MAX_PATH)}`,
        isUnmatched: true,
      };
    if (size > MAX_METADATA) return TOO_LARGE;
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

  #look(): void {
    for (const connection of this.#open) connection.look();
  }
}

/** The status of a call that no method gets. `isUnmatched`: because there is none. */
export interface Refusal {
  readonly code: Status;
  readonly details: string;
  readonly isUnmatched?: true;
}

const TOO_LARGE: Refusal = {
  code: Status.RESOURCE_EXHAUSTED,
  details: 'the metadata of a call may have at most 16 KiB',
};
/** A few bytes of a compressed message could become the largest one. */
const COMPRESSED: Refusal = {
  code: Status.UNIMPLEMENTED,
  details: 'send messages without compression (grpc-encoding: identity)',
};
/** Characters of an unknown path that are sent back. */
const MAX_PATH = 256;

/** The headers by which the library finds the method. */
const NEEDED: ReadonlySet<string> = new Set([':method', ':path', ':scheme', ':authority', 'content-type', 'te']);
