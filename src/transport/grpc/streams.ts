import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { MAX_MESSAGE } from '../message-limits.ts';
import type { BegunCall } from './misuse.ts';

/** What a stream takes in memory beside its metadata and message. */
const STREAM = 4 * 1024;
/** Most bytes of headers that have no end yet: HTTP/2 refuses more. */
const MAX_UNFINISHED = 128 * 1024;

/** A stream that is open. */
interface OpenStream {
  /** What its metadata takes. */
  readonly held: number;
  readonly begun: BegunCall;
  /** Bytes of its answer that were not read at the last look. */
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
  /** Bytes that had been read when the last stream began, and before the read in which it did. */
  #begun = 0;
  #before = 0;
  /** At the last look: bytes that had not ended in the headers of a stream; what incomplete requests took, at most. */
  #unfinished = 0;
  #incomplete = 0;
  /** Bytes of answers that the client had read neither at the last look nor at the one before. */
  #unread = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Bytes, as far as they are known. */
  get bytes(): number {
    return this.#streams.size * STREAM + this.#held + this.#unfinished + this.#incomplete + this.#unread;
  }

  /** A stream begins, whose metadata takes so many bytes. */
  add(stream: ServerHttp2Stream, held: number, begun: BegunCall): void {
    const { bytesRead } = this.#socket;
    if (bytesRead !== this.#begun) this.#before = this.#begun;
    this.#begun = bytesRead;
    this.#streams.set(stream, { held, begun, unread: 0, rows: 0 });
    this.#held += held;
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

  /**
   * Looks at what has arrived, and at what was not read since the last look. Returns how many requests are incomplete.
   */
  look(): number {
    this.#unfinished = Math.min(this.#socket.bytesRead - this.#before, MAX_UNFINISHED);
    let incomplete = 0;
    this.#unread = 0;
    for (const [stream, open] of this.#streams) {
      if (isIncomplete(stream)) incomplete++;
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
