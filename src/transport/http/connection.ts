import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, finished } from 'node:stream';
import type { PlantStoreError } from '../../domain/errors.ts';
import type { Protocol } from '../../observe/request.ts';
import { CLIENT_LEFT } from '../../semaphore.ts';
import type { Admission } from '../admission/admission.ts';
import { Connection } from '../admission/connection.ts';
import { RequestPermit } from '../admission/request-permit.ts';
import { MAX_MESSAGE } from '../call-limits.ts';

/** Most bytes of a request line and its headers. */
export const MAX_HEADERS = 16 * 1024;
/**
 * Most bytes that are parsed in one piece of what has no known length: headers, and a body in chunks. A body of known
 * length is one piece as far as it has arrived: the parser copies each part of it.
 */
const PIECE_BYTES = 16 * 1024;
/** What headers end with, and a body in chunks (RFC 9112, sections 2.1 and 7.1). */
const END_OF_HEADERS = Buffer.from('\r\n\r\n');
/** Bytes that wait to be parsed beyond which no more are read. Node reads up to 64 KiB at once. */
const MAX_WAITING_BYTES = 64 * 1024;
/** Milliseconds that the first read of a connection takes at most, with the end of another to make room for it. */
const FIRST_READ_COST = 0.25;
/** What the objects of a request take in memory, and what a byte of its headers becomes. */
const REQUEST_BYTES = 4 * 1024;
const HEADER_FACTOR = 2;

/** Milliseconds for the answer to a client that ends its side together with its request. It counts as gone then. */
const ANSWER_GRACE = 100;

/** Milliseconds for the rest of an answered request to arrive. The connection is then closed. */
const REST_LIMIT = 5_000;

/**
 * Milliseconds of silence on a stream after which the system asks whether its client is there (TCP keep-alive). It asks
 * ten times, a second apart: all of it before the next comment of an event stream, as it does not ask while data waits.
 */
const SILENCE_LIMIT = 4_000;

/** Milliseconds for the next request of a connection to arrive once the server stops. */
const LAST_REQUEST_LIMIT = 100;

/**
 * The response that is being sent or awaited on a connection. Undefined: the connection has no request. Node's own
 * handlers of errors and time-outs use the same property.
 */
export const answerOn = (socket: Duplex): ServerResponse | undefined =>
  (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;

const CONNECTION = Symbol('connection');

/** The connection of a request. */
export const connectionOf = (socket: Socket): HttpConnection =>
  (socket as unknown as { [CONNECTION]: HttpConnection })[CONNECTION];

/** A request that a connection serves, and its answer: from its headers until it is answered or its client has left. */
class Exchange {
  readonly response: ServerResponse;
  /** Whether the request waited too long for its turn. */
  readonly isLate: boolean;
  readonly permit = new RequestPermit();
  /** Bytes of the answer that wait in this process: the kernel has not taken them. */
  unread = 0;
  /** Bytes of the answer in memory that are not being sent yet. */
  rows = 0;
  /** Whether the answer lasts as long as its client likes. */
  isStream = false;

  constructor(response: ServerResponse, isLate: boolean) {
    this.response = response;
    this.isLate = isLate;
  }
}

/**
 * A connection over HTTP/1.1. It stands between its socket and Node's parser, and serves one request at a time: the
 * parser gets a piece of the bytes when it is the connection's turn, and none while a request is being answered. So
 * what a client pipelines waits in its socket.
 */
export class HttpConnection extends Connection {
  readonly protocol: Protocol = 'rest';
  /** The error with which the parser ended the request that is being served. It is the answer. */
  refusal: PlantStoreError | undefined;
  readonly #socket: Socket;
  readonly #admission: Admission;
  /** Node's own listeners, which parse. */
  readonly #parse: (bytes: Buffer) => void;
  readonly #finish: () => void;
  /** Bytes that are not parsed yet. */
  #bytes: Buffer | undefined;
  /** Whether nothing is read yet: not all bytes of many new connections are read in one turn of the event loop. */
  #isUnread = true;
  /** Bytes that were parsed since the last request that was answered and whole. */
  #parsed = 0;
  /** Bytes of a body of known length that are not parsed yet. */
  #bodyLeft = 0;
  #isPaused = false;
  /** Whether the client still sends, has ended its side, or the parser knows of that end too. */
  #input: 'open' | 'ended' | 'told' = 'open';
  /** The id of the request that is being served. */
  requestId = '';
  /** Whether the piece that is being parsed has waited too long for its turn. */
  #isLate = false;
  /** Undefined: no request is being served. */
  #exchange: Exchange | undefined;
  /** A request that was answered before it was whole, until it is. No other answered request is kept in memory. */
  #unfinished: IncomingMessage | undefined;
  #isDetached = false;
  #isStopping = false;
  /** Whether the last answer is sent. */
  #isEnding = false;

  /**
   * Takes a connection that an HTTP server has just accepted, and paused. Its first bytes are read when it is its turn.
   */
  constructor(socket: Socket, admission: Admission) {
    super(admission.fresh.http);
    this.#socket = socket;
    this.#admission = admission;
    this.#parse = takeLast(socket, 'data');
    this.#finish = takeLast(socket, 'end');
    (socket as { [CONNECTION]?: HttpConnection })[CONNECTION] = this;
    const destroySoon = socket.destroySoon.bind(socket);
    // Node calls it after the last answer.
    socket.destroySoon = () => {
      this.#isEnding = true;
      this.#endAfterRequest(destroySoon);
    };
    admission.opened(this);
    socket
      .on('data', (bytes) => this.#receive(bytes))
      .on('end', () => this.#end())
      .on('close', () => this.#close())
      .on('resume', () => this.#resumed())
      // Node takes its own listener away, as for CONNECT, and an error that nobody hears ends the process.
      .on('error', () => {});
    admission.turns.add(this);
  }

  /** The error of the request that is being served if it has waited too long for its turn. */
  late(protocol: Protocol): PlantStoreError | undefined {
    return this.#exchange?.isLate ? this.#admission.late(protocol) : undefined;
  }

  /** The token of the request that is being served belongs to this owner. Throws RATE_LIMITED. */
  verified(owner: string): void {
    this.#admission.verified(this, owner);
  }

  /**
   * Takes a permit of an owner's share, until the request is answered. Rejects if there is none in time, or the client
   * has left.
   */
  permit(owner: string, response: ServerResponse, protocol: Protocol): void | Promise<void> {
    const exchange = this.#exchange;
    if (exchange?.response !== response) throw CLIENT_LEFT;
    return exchange.permit.take(this.#admission, owner, protocol);
  }

  /**
   * Serves a request that is parsed: at once, unless the end of the one before it came in the same piece. Never behind
   * the last answer (RFC 9112, section 9.6): the client may have meant it as a part of the request before.
   */
  begin(response: ServerResponse, serve: () => void): void {
    if (this.#isEnding) return;
    if (this.#exchange !== undefined) {
      response.once('socket', () => process.nextTick(() => this.begin(response, serve)));
      return;
    }
    const exchange = new Exchange(response, this.#isLate);
    this.#exchange = exchange;
    this.#unfinished = undefined;
    this.#bodyLeft = Number(response.req.headers['content-length'] ?? 0);
    response.on('prefinish', () => this.countUnread());
    response.on('close', () => this.#answered(exchange));
    if (hasBody(response.req)) response.req.on('resume', () => this.#wake());
    serve();
  }

  /** Whether a request was answered before it was whole, and its rest has not come yet. */
  get awaitsRest(): boolean {
    return this.#unfinished !== undefined;
  }

  /** The answer lasts as long as its client likes, and is counted elsewhere. The connection serves nothing after it. */
  beginStream(): void {
    if (this.#exchange === undefined) return;
    this.#exchange.permit.release();
    this.#exchange.isStream = true;
    this.#socket.setKeepAlive(true, SILENCE_LIMIT);
    if (this.#bytes !== undefined) this.#socket.destroy();
  }

  /** The answer is sent without a permit. It takes so many bytes until its end. */
  sends(bytes: number): void {
    if (this.#exchange === undefined) return;
    this.#exchange.permit.release();
    this.#exchange.unread = bytes;
    this.#count();
  }

  /** The answer has so many bytes in memory beside those that are being sent. */
  setHeld(bytes: number): void {
    if (this.#exchange === undefined) return;
    this.#exchange.rows = bytes;
    this.#count();
  }

  /** Counts what the client has not read of its answer: it is in memory, as far as the kernel has not taken it. */
  countUnread(): void {
    if (this.#exchange === undefined) return;
    const { writableLength } = this.#exchange.response;
    if (writableLength === this.#exchange.unread) return;
    this.#exchange.unread = writableLength;
    this.#count();
  }

  /**
   * The server stops: the connection ends after its last answer. The answer says so, unless its headers are sent
   * already.
   */
  stop(): void {
    this.#isStopping = true;
    const response = this.#exchange?.response;
    if (response?.headersSent === false) response.setHeader('connection', 'close');
    // Browsers open connections on which they send nothing.
    setTimeout(() => this.#endIfIdle(), LAST_REQUEST_LIMIT).unref();
  }

  #endIfIdle(): void {
    const isIdle = this.#exchange === undefined && this.#bytes === undefined;
    if (this.#isStopping && isIdle && (this.#parsed === 0 || this.awaitsRest)) this.#socket.destroySoon();
  }

  /**
   * Ends the connection once the request that was answered is read and discarded. Otherwise it would be reset while the
   * client still sends, and the client would lose the answer.
   */
  #endAfterRequest(end: () => void): void {
    const request = this.#exchange?.response.req;
    if (request === undefined || request.complete) end();
    else finished(request, { writable: false }, end);
  }

  /** Discards all further bytes: Node has given up the parser. */
  detach(): void {
    this.#bytes = undefined;
    this.#isDetached = true;
  }

  override work(isLate: boolean): boolean {
    if (this.#mustWait()) return false;
    if (this.#isUnread) {
      this.#isUnread = false;
      this.#socket.resume();
      this.#admission.turns.addCost(FIRST_READ_COST);
      return false;
    }
    this.#admission.begins(this);
    this.#isLate = isLate;
    this.#parsePiece();
    if (this.#bodyLeft > 0 && !this.#mustWait()) this.#parsePiece();
    this.#count();
    return this.#goesOn();
  }

  #parsePiece(): void {
    const bytes = this.#bytes;
    if (bytes === undefined) return;
    const end = this.#endOfPiece(bytes);
    this.#bytes = end === bytes.length ? undefined : bytes.subarray(end);
    this.#parsed += end;
    this.#parse.call(this.#socket, end === bytes.length ? bytes : bytes.subarray(0, end));
    if (this.#unfinished?.complete) this.#forget();
  }

  /** Nothing is left of the last request. */
  #forget(): void {
    this.#unfinished = undefined;
    this.#parsed = 0;
  }

  /** So that hardly any piece has more than one request, it ends with the headers, or with the body. */
  #endOfPiece(bytes: Buffer): number {
    if (this.#bodyLeft > 0) {
      const body = Math.min(bytes.length, this.#bodyLeft);
      this.#bodyLeft -= body;
      return body;
    }
    const most = Math.min(bytes.length, PIECE_BYTES);
    const end = bytes.indexOf(END_OF_HEADERS);
    return end === -1 ? most : Math.min(end + END_OF_HEADERS.length, most);
  }

  override end(): void {
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    if (this.#isDetached) return;
    if (this.#exchange?.isStream) {
      this.#socket.destroy();
      return;
    }
    this.#bytes = this.#bytes === undefined ? bytes : Buffer.concat([this.#bytes, bytes]);
    if (this.#bytes.length >= MAX_WAITING_BYTES) {
      this.#isPaused = true;
      this.#socket.pause();
    }
    this.#count();
    this.#wake();
  }

  #end(): void {
    this.#input = 'ended';
    this.#wake();
  }

  #close(): void {
    this.#bytes = undefined;
    this.#admission.closed(this);
    this.#exchange?.permit.end();
  }

  /** Node resumes the socket when a request is read, also when enough waits. */
  #resumed(): void {
    if (this.#isPaused) this.#socket.pause();
    this.#wake();
  }

  #wake(): void {
    if (this.#goesOn()) this.#admission.turns.add(this);
  }

  /** Whether there are bytes to parse now. If none are left, more are read, or the parser learns that none come. */
  #goesOn(): boolean {
    if (this.#bytes !== undefined) return !this.#mustWait();
    if (this.#isPaused) {
      this.#isPaused = false;
      this.#socket.resume();
    }
    if (this.#input === 'ended') this.#tellEnd();
    return false;
  }

  /** Tells the parser that nothing more comes: at once, unless an answer may still be in time. */
  #tellEnd(): void {
    this.#input = 'told';
    if (answerOn(this.#socket) === undefined || this.#exchange?.isStream) this.#leave();
    else setTimeout(() => this.#leave(), ANSWER_GRACE).unref();
  }

  /** Tells the parser that the client sends nothing more. It ends the connection. */
  #leave(): void {
    if (!this.#isDetached && !this.#socket.destroyed) this.#finish.call(this.#socket);
  }

  /**
   * Whether nothing may be parsed now: the request before is being answered, or nobody reads its body yet. A body that
   * is parsed in small chunks takes far more memory than its bytes.
   */
  #mustWait(): boolean {
    if (this.#socket.destroyed) return true;
    const request = this.#exchange?.response.req;
    return request !== undefined && (request.complete || request.readableFlowing !== true);
  }

  /** The request is answered, or its client has left. The rest of an answered request may still come. */
  #answered(exchange: Exchange): void {
    const request = exchange.response.req;
    exchange.permit.end();
    this.#exchange = undefined;
    if (request.complete) this.#forget();
    else this.#unfinished = request;
    if (this.#socket.destroyed) return;
    this.#count();
    this.#wake();
    if (request.complete) this.#endIfIdle();
    else setTimeout(endUnlessComplete, REST_LIMIT, request).unref();
  }

  /** Counts a request by its size: its headers first, and then its body, of which no more is kept; and its answer. */
  #count(): void {
    const headers = Math.min(this.#parsed, MAX_HEADERS);
    const body = Math.min(this.#parsed - headers, MAX_MESSAGE);
    const request = this.#parsed === 0 ? 0 : REQUEST_BYTES + HEADER_FACTOR * headers + body;
    const answer = this.#exchange === undefined ? 0 : this.#exchange.unread + this.#exchange.rows;
    // All that was read at once stays as long as any of it.
    this.#admission.memory.set(this, request + answer + (this.#bytes?.buffer.byteLength ?? 0));
  }
}

/** Whether a request has a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0;

/** Closes the connection of an answered request that is incomplete. */
function endUnlessComplete({ complete, socket }: IncomingMessage): void {
  if (!complete) socket.destroy();
}

/** Removes and returns the last listener of an event: that of the HTTP server, which has just taken the socket. */
function takeLast(socket: Socket, event: 'data' | 'end'): (...values: unknown[]) => void {
  const listener = socket.listeners(event).at(-1) as (...values: unknown[]) => void;
  socket.off(event, listener);
  return listener;
}
