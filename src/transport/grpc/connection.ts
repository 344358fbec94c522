import { constants, type Http2Session, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Admission } from '../admission/admission.ts';
import { type Caller, Connection } from '../admission/connection.ts';
import { HANDSHAKE_HELD } from './handshakes.ts';
import type { Paced, ReadPace } from './read-pace.ts';
import { EarlyBytes, handleOf } from './sockets.ts';
import { OpenStreams, RapidResets, SmallPieces } from './streams.ts';

/**
 * Milliseconds after which a connection ends, as soon as its calls have. Its client then opens another one, which a
 * balancer can move to a new instance. The connections of one moment end within a tenth more. (The library would do the
 * same, but by a timer of a length of its own for each, of which Node keeps 160 bytes for the hour.)
 */
const AGE_LIMIT = 60 * 60_000;
/** Milliseconds that its calls then have. The longest list of plants has 4 minutes. */
const AGE_GRACE = 5 * 60_000;
/** Milliseconds for a client to read why its connection ends. */
const READ_GRACE = 1_000;
/**
 * Connections of an owner for which TLS does not count as memory: so any number of owners may have some, and none takes
 * the memory of thousands.
 */
const MAX_EXEMPT = 16;

/**
 * Calls that may wait for their turn on a connection. While so many wait, nothing is read. So the turns also bound what
 * Node and the library do for calls that wait.
 */
const MAX_WAITING = 16;
/** Most bytes that are read of a connection before its turn. */
const MAX_EARLY_BYTES = 64 * 1024;
/** The first of these bytes do not count as memory: the bytes of an ordinary call are no more. */
const FREE_EARLY_BYTES = 4 * 1024;
/**
 * Milliseconds that count in a turn for the first read of a connection: it may bring a hundred calls, which Node makes
 * at once. So no turn of the event loop has many such reads.
 */
const READ_COST = 1;

/** Milliseconds that each call costs outside of its turn: what Node and the library take to make it and to end it. */
const CALL_COST = 0.03;

/** Bytes of frames that are no call, such as the answers to pings, after which a ping shows that they are whole. */
const MAX_FRAME_BYTES = 8 * 1024;
/** Looks at a connection whose session is over, for its client to close it. */
const MAX_OVER = 4;

const CONNECTION = Symbol('connection');

/** The connection of a stream. Undefined once its session is destroyed. */
export const connectionOf = ({ session }: ServerHttp2Stream): GrpcConnection | undefined =>
  session === undefined || session.destroyed
    ? undefined
    : (session.socket as { [CONNECTION]?: GrpcConnection })[CONNECTION];

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
 * A connection over HTTP/2. The library gets the connection at its first turn, and each of its calls begins at a later
 * one. It counts what its streams hold, also those that the library refuses, and headers without an end, for which
 * there is no stream yet.
 */
export class GrpcConnection extends Connection implements Paced {
  readonly protocol = 'grpc';
  readonly #socket: Socket;
  readonly #admission: Admission;
  /** Gives the socket to the library. Undefined once it has it. */
  #serve: (() => void) | undefined;
  readonly #pace: ReadPace;
  readonly #calls: WaitingCall[] = [];
  /** Whether nothing is read until its turn, and its calls have begun. */
  #isStopped = false;
  /** Whether the pace says when it reads on. */
  #isPaced = false;
  readonly #streams: OpenStreams;
  readonly #resets = new RapidResets();
  readonly #pieces = new SmallPieces();
  #session: Http2Session | undefined;
  /** Whether the answer to a ping is awaited. */
  #isPinging = false;
  /** Bytes that had been read at the last check; checks since that changed, and since the session was over. */
  #heard = 0;
  #silent = 0;
  #over = 0;
  /** When it is old, by `performance.now()`. */
  readonly #oldAt = performance.now() + AGE_LIMIT * (1 + Math.random() / 10);
  /** Bytes that had been read at the last `readSince`, and those of calls since. */
  #known = 0;
  /** What TLS takes. */
  readonly #tls: number;
  /** The owner for whom that does not count. */
  #exemptFor: Caller | undefined;

  /** Takes a socket that was just accepted. `serve` gives it to the library, when it is its turn. */
  constructor(socket: Socket, admission: Admission, pace: ReadPace, serve: () => void) {
    super(admission.fresh.grpc);
    this.#pace = pace;
    this.#socket = socket;
    this.#admission = admission;
    this.#streams = new OpenStreams(socket);
    const early = new EarlyBytes(socket, MAX_EARLY_BYTES, () => {
      this.#streams.setUnfinished(Math.max(early.bytes.length - FREE_EARLY_BYTES, 0));
      this.#count();
    });
    this.#serve = () => {
      early.putBack();
      serve();
    };
    (socket as { [CONNECTION]?: GrpcConnection })[CONNECTION] = this;
    socket.once('close', () => this.#close());
    this.#tls = socket instanceof TLSSocket ? HANDSHAKE_HELD : 0;
    admission.opened(this);
    this.#count();
    admission.turns.add(this);
  }

  /** Lets a call begin when it is its turn. */
  add(call: WaitingCall): void {
    if (call.isProbe) this.#admission.begins(this, true);
    call.since = this.#admission.turns.clock;
    this.#calls.push(call);
    this.#admission.turns.add(this);
    if (this.#calls.length >= MAX_WAITING) this.#stop();
  }

  /** Lets nothing more be read until `resume`, and then at its turn. */
  pause(): void {
    this.#isPaced = true;
    this.#stop();
  }

  /** Lets it read once, at its turn. */
  resume(): void {
    this.#isPaced = false;
    if (this.#isStopped) this.#admission.turns.add(this);
  }

  /** Bytes of no call that Node has parsed since this was last asked. */
  readSince(): number {
    if (this.#serve !== undefined) return 0;
    const { bytesRead } = this.#socket;
    const read = Math.max(bytesRead - this.#known, 0);
    this.#known = bytesRead;
    return read;
  }

  /** Also where it is stopped: Node reads on once it has written. */
  #stop(): void {
    this.#isStopped = true;
    handleOf(this.#socket)?.readStop();
  }

  /** Node reads once before the next turn of the event loop. Nothing more is read, unless that was little. */
  #readOnce(): void {
    this.#admission.turns.addCost(READ_COST);
    const began = performance.now();
    setImmediate(() => {
      this.#pace.hasRead(this, performance.now() - began);
      if (!this.#isPaced && this.#calls.length < MAX_WAITING) this.#start();
    });
  }

  #start(): void {
    this.#isStopped = false;
    handleOf(this.#socket)?.readStart();
  }

  /** The token of a call belongs to this owner. Throws RATE_LIMITED. */
  verified(owner: string): void {
    this.#admission.verified(this, owner);
    this.#exemptTls();
    this.#count();
  }

  /** A call shows that the connection is another instance's. */
  trusted(): void {
    this.#admission.trusted(this);
    this.#exemptTls();
    this.#count();
  }

  override work(): boolean {
    const serve = this.#serve;
    if (serve !== undefined) {
      this.#serve = undefined;
      if (this.#socket.destroyed) return false;
      serve();
      this.#stop();
      this.#readOnce();
      return false;
    }
    const call = this.#calls.shift();
    if (call === undefined) {
      if (!this.#isStopped || this.#isPaced) return false;
      // Who sends much without a call is no new client.
      this.#admission.begins(this);
      this.#start();
      this.#readOnce();
      return false;
    }
    if (!call.isProbe) this.#admission.begins(this);
    const { turns, maxWait } = this.#admission;
    turns.addCost(CALL_COST);
    call.begin(!call.isProbe && turns.clock - call.since > maxWait);
    return this.#calls.length > 0 || (this.#isStopped && !this.#isPaced);
  }

  override end(): void {
    const session = this.#session;
    // Node throws for a session that is over, as after a GOAWAY of its client, whose socket may still be open.
    if (session === undefined || session.destroyed) {
      this.#socket.destroy();
      return;
    }
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    session.destroy();
    // Node itself waits for clients that read nothing.
    setTimeout(() => this.#socket.destroy(), READ_GRACE).unref();
  }

  /** A stream begins, whose metadata takes so much memory. */
  opened(session: Http2Session, stream: ServerHttp2Stream, held: number): void {
    if (this.#session === undefined) session.prependListener('stream', keepAuthorizations);
    this.#session = session;
    this.#streams.add(stream, held, this.#resets.begun());
    this.#countPieces(stream);
    this.#known += held;
    this.#count();
  }

  /** A stream has so many bytes in memory beside those that are being sent. */
  setHeld(stream: ServerHttp2Stream, bytes: number): void {
    this.#streams.setRows(stream, bytes);
    this.#count();
  }

  /** A stream is closed. */
  closed(stream: ServerHttp2Stream): void {
    const begun = this.#streams.remove(stream);
    if (begun === undefined) return;
    if (this.#resets.ended(begun)) this.#endAtOnce();
    this.#count();
  }

  /**
   * Counts what has arrived since the last check, and what was not read since. Ends it once it is old, once so many
   * checks have heard nothing, or once its session is over and its client leaves it open. The checks are counted, and
   * not their time, in which the process may have stood still.
   */
  check(mostSilent: number): void {
    this.#pieces.restart(this.#streams.check());
    this.#count();
    if (this.#streams.unconfirmed.bytes > MAX_FRAME_BYTES) this.#confirmByPing();
    this.#silent = this.#socket.bytesRead === this.#heard ? this.#silent + 1 : 0;
    this.#heard = this.#socket.bytesRead;
    if (this.#session?.destroyed === true) this.#over++;
    if (this.#silent > mostSilent || this.#over > MAX_OVER) this.#endAtOnce();
    const age = performance.now() - this.#oldAt;
    if (age >= AGE_GRACE) this.#endAtOnce();
    else if (age >= 0 && this.#session?.closed === false) this.#session.close();
  }

  /**
   * No frame comes between those of headers (RFC 9113, section 4.3): once a ping is answered, all that came before it
   * is whole.
   */
  #confirmByPing(): void {
    const session = this.#session;
    if (this.#isPinging || session === undefined || session.destroyed) return;
    const { read, messages } = this.#streams.unconfirmed;
    this.#isPinging = session.ping((error: Error | null) => {
      this.#isPinging = false;
      if (error === null) this.#streams.confirm(read, messages);
    });
  }

  /** Its calls would wait for turns in which nothing is left to do. */
  #close(): void {
    this.#calls.length = 0;
    this.#admission.closed(this);
    if (this.#exemptFor !== undefined) this.#exemptFor.exempt--;
  }

  /** Stops counting the memory of TLS, unless its owner has MAX_EXEMPT such connections. */
  #exemptTls(): void {
    if (this.#tls === 0 || this.#exemptFor === this.caller || this.#socket.destroyed) return;
    if (this.#exemptFor !== undefined) this.#exemptFor.exempt--;
    this.#exemptFor = this.caller.exempt < MAX_EXEMPT ? this.caller : undefined;
    if (this.#exemptFor !== undefined) this.caller.exempt++;
  }

  /** Node pushes each frame of a message into its stream. */
  #countPieces(stream: ServerHttp2Stream): void {
    const push = stream.push;
    let pieces = 0;
    stream.push = (piece: Buffer | null) => {
      this.#known += piece?.length ?? 0;
      this.#streams.addMessage(piece?.length ?? 0);
      if (piece !== null && this.#pieces.isOneTooMany(piece.length, ++pieces)) this.#endAtOnce();
      return push.call(stream, piece);
    };
  }

  #endAtOnce(): void {
    this.#session?.destroy();
    this.#socket.destroy();
  }

  #count(): void {
    const tls = this.#exemptFor === undefined ? this.#tls : 0;
    this.#admission.memory.set(this, tls + this.#streams.bytes + this.#pieces.bytes);
  }
}

/** Puts back every Authorization field of a stream: Node keeps the first one, and a call must have one alone. */
function keepAuthorizations(_stream: unknown, headers: IncomingHttpHeaders, _flags: unknown, raw: string[]): void {
  const tokens = raw.filter((_, index) => index % 2 === 1 && raw[index - 1] === 'authorization');
  // The library takes a list of values for every field.
  if (tokens.length > 1) Object.assign(headers, { authorization: tokens });
}
