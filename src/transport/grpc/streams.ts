import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { MAX_MESSAGE } from '../call-limits.ts';

/** What a stream takes in memory beside its metadata and message. */
const STREAM_BYTES = 4 * 1024;
/** Most bytes of headers that have no end yet: HTTP/2 refuses more. */
const MAX_UNFINISHED = 128 * 1024;
/**
 * Calls of a connection that its client may reset in the turn of the event loop in which they began, after others of
 * that turn were reset: so a client whose calls expired before they were read may reset all of them, once. Node hands
 * over all of a read at once, and bounds resets at a thousand.
 */
const MAX_RESET = 16;
/**
 * Pieces of a request's message that are too small to be honest: each costs as much as a large one. So many on a
 * connection between two checks are too many. The first ones of a stream may be small: clients send a message's length
 * alone.
 */
const SMALL_BYTES = 64;
const FIRST_PIECES = 4;
const MAX_SMALL = 256;
/** What the library keeps of a small piece until its message is whole. */
const PIECE_HELD = 256;

interface OpenStream {
  /** What its metadata takes. */
  readonly held: number;
  readonly begun: BegunCall;
  /** Bytes of its answer that were not read at the last check. */
  unread: number;
  /** Bytes of rows that it will send. */
  rows: number;
}

/**
 * What the streams of a connection take in memory: also those that the library refuses, and headers without an end, for
 * which there is no stream yet.
 */
export class OpenStreams {
  readonly #socket: Socket;
  readonly #streams = new Map<ServerHttp2Stream, OpenStream>();
  /** What metadata and rows take. */
  #held = 0;
  /** Bytes of requests' messages that have come. */
  #messages = 0;
  /** Bytes that had been read when the last stream began. */
  #begun = 0;
  /** Bytes that had been read, but for those of messages, and certainly are of no headers without an end. */
  #before = 0;
  /** At the last check: bytes that had not ended in the headers of a stream; what incomplete requests took, at most. */
  #unfinished = 0;
  #incomplete = 0;
  /** Bytes of answers that the client had read neither at the last check nor at the one before. */
  #unread = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Bytes, as far as they are known. */
  get bytes(): number {
    return this.#streams.size * STREAM_BYTES + this.#held + this.#unfinished + this.#incomplete + this.#unread;
  }

  /** A stream begins, whose metadata takes so many bytes. */
  add(stream: ServerHttp2Stream, held: number, begun: BegunCall): void {
    const { bytesRead } = this.#socket;
    if (bytesRead !== this.#begun) this.confirm(this.#begun, this.#messages);
    this.#begun = bytesRead;
    this.#streams.set(stream, { held, begun, unread: 0, rows: 0 });
    this.#held += held;
  }

  /**
   * Bytes that may be of headers without an end, as of the last check, and what to pass to `confirm` once they are not.
   */
  get unconfirmed() {
    return { bytes: this.#unfinished, read: this.#socket.bytesRead, messages: this.#messages };
  }

  /** Of what had been read by then, with so many bytes of messages in it, nothing is of headers without an end. */
  confirm(read: number, messages: number): void {
    this.#before = Math.max(this.#before, read - messages);
  }

  /** So many bytes of a request's message have come. */
  addMessage(bytes: number): void {
    this.#messages += bytes;
  }

  /** A stream has so many bytes in memory beside those that are being sent. */
  setRows(stream: ServerHttp2Stream, bytes: number): void {
    const open = this.#streams.get(stream);
    if (open === undefined) return;
    this.#held += bytes - open.rows;
    open.rows = bytes;
  }

  /** A stream is closed. Returns what `add` was told of its begin. Undefined: it was not open. */
  remove(stream: ServerHttp2Stream): BegunCall | undefined {
    const open = this.#streams.get(stream);
    if (open === undefined) return undefined;
    this.#held -= open.held + open.rows;
    this.#streams.delete(stream);
    return open.begun;
  }

  /** So many bytes have come, and no stream yet. */
  setUnfinished(bytes: number): void {
    this.#unfinished = bytes;
  }

  /** Counts what has arrived, and what was not read since the last check. Returns how many requests are incomplete. */
  check(): number {
    this.#unfinished = Math.min(this.#socket.bytesRead - this.#messages - this.#before, MAX_UNFINISHED);
    let incomplete = 0;
    this.#unread = 0;
    for (const [stream, open] of this.#streams) {
      if (isIncomplete(stream)) {
        incomplete++;
        stopSending(stream);
      }
      const { writableLength } = stream;
      this.#unread += Math.min(open.unread, writableLength);
      open.unread = writableLength;
    }
    this.#incomplete = incomplete * MAX_MESSAGE;
    return incomplete;
  }
}

/** Whether the rest of a request is awaited. Until it is there, the library or Node holds what has come. */
const isIncomplete = ({ state: { state } }: ServerHttp2Stream): boolean =>
  state !== undefined && state !== constants.NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE;

/**
 * Tells a client whose request is answered to send no more of it (RST_STREAM with NO_ERROR: RFC 9113, section 8.1).
 * Only once the answer is written: nghttp2 sends none of a stream that is reset.
 */
function stopSending(stream: ServerHttp2Stream): void {
  if (stream.state.localClose === 1 && !stream.closed) stream.close();
}

/** When a call began: the turn of the event loop, and whether others of that turn had been reset by then. */
export interface BegunCall {
  readonly turn: number;
  readonly isAfterReset: boolean;
}

/**
 * Bounds the calls of a connection that are reset as soon as they begin ("rapid reset", CVE-2023-44487). The bounds on
 * later resets are Node's own (see server.ts).
 */
export class RapidResets {
  #turn = 0;
  /** Whether a call has begun in this turn. */
  #isTurn = false;
  /** Of the calls that began in this turn: whether any was reset, and how many after that. */
  #hasReset = false;
  #reset = 0;

  /** A call begins. */
  begun(): BegunCall {
    if (!this.#isTurn) this.#beginTurn();
    return { turn: this.#turn, isAfterReset: this.#hasReset };
  }

  /** A call is over. Returns whether the client has reset too many. */
  ended({ turn, isAfterReset }: BegunCall): boolean {
    if (!this.#isTurn || turn !== this.#turn) return false;
    this.#hasReset = true;
    if (isAfterReset) this.#reset++;
    return this.#reset > MAX_RESET;
  }

  #beginTurn(): void {
    this.#isTurn = true;
    this.#hasReset = false;
    this.#reset = 0;
    setImmediate(() => {
      this.#isTurn = false;
      this.#turn++;
    });
  }
}

/** Bounds the small pieces in which messages of a connection arrive ("data dribble", CVE-2019-9511). */
export class SmallPieces {
  /** Since the last check, and since all requests were whole. */
  #small = 0;
  #kept = 0;

  /** What the library keeps of them, in bytes. */
  get bytes(): number {
    return this.#kept * PIECE_HELD;
  }

  /** Counts a piece: that of a number, from 1 on, in its stream. Returns whether there were too many small ones. */
  isOneTooMany(length: number, number: number): boolean {
    if (length >= SMALL_BYTES || number <= FIRST_PIECES) return false;
    this.#small++;
    this.#kept++;
    return this.#small > MAX_SMALL;
  }

  /** Counts anew, with what the library keeps of messages that are not whole. */
  restart(incomplete: number): void {
    this.#small = 0;
    if (incomplete === 0) this.#kept = 0;
  }
}
