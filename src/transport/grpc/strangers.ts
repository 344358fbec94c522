import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2';

/** Most bytes of memory that unknown callers hold together. */
const MAX_HELD = 64 * 1024 * 1024;

/** What unknown callers hold on one connection is at most this fraction, 1/n, of what is still free of MAX_HELD. */
const PART = 4;

/** What a call holds beside its metadata and its message, in bytes: the objects of Node and of the library. */
const CALL = 4 * 1024;

/** Most bytes that Node reads from a socket at once. */
const READ = 64 * 1024;

/** Milliseconds between two looks at what connections have sent. */
const LOOK = 250;

/**
 * What becomes of a call. `serve`: it fits. `refuse`: only its refusal does. `breakOff`: not even that, so that its
 * connection ends: a client that does not read its refusals makes the server hold them.
 */
export type Verdict = 'serve' | 'refuse' | 'breakOff';

/** What unknown callers hold on one connection. */
class Share {
  /** Bytes of their calls. */
  calls = 0;
  /** Bytes that may be of headers without an end, for which there is no call yet. */
  headers = 0;
  /** The bytes that had been read when the last call began. */
  begun = 0;
  /** The bytes of messages that have been read since. */
  messages = 0;
  /** Whether a caller has shown a token. */
  isKnown = false;

  get held(): number {
    return this.calls + this.headers;
  }
}

const KNOWN = Symbol('known');

interface Marked {
  [KNOWN]?: () => void;
}

/** The caller of this call is known and has bounds of its own. The call counts no more. */
export const knownCaller = (stream: ServerHttp2Stream): void => (stream as Marked)[KNOWN]?.();

/**
 * Bounds the memory of all unknown callers together: calls that wait for admission or for the verification of their
 * token, calls that need no token, refused calls whose answer is not read, and headers that do not end. The bounds of a
 * connection do not bound many connections.
 *
 * A connection may hold a part of what is free, and not of the whole. So however many connections take what they can,
 * some stays free, and a connection with few calls is served (dynamic thresholds, as in switches that share a buffer).
 */
export class Strangers {
  readonly #shares = new WeakMap<Http2Session, Share>();
  #calls = 0;
  #headers = 0;

  /** Looks at the open connections from time to time, until the timer that it returns is cleared. */
  watch(sessions: () => Iterable<Http2Session>): NodeJS.Timeout {
    return setInterval(() => this.#look(sessions()), LOOK).unref();
  }

  /** Judges a call that is about to begin, with so many bytes of metadata in memory. */
  judge(session: Http2Session, metadata: number): Verdict {
    const share = this.#shareOf(session);
    share.begun = session.socket.bytesRead;
    share.messages = 0;
    if (this.#fits(share, CALL + metadata)) return 'serve';
    // Refusals may take as much again, so that a burst of calls is refused, and its connection stays.
    return share.held + CALL <= 2 * this.#part ? 'refuse' : 'breakOff';
  }

  /**
   * Begins a call with `begin`, and counts it from there until its caller is known or its stream is closed.
   * `refuse`: ends the call, because the bytes of its message do not fit.
   */
  hold(stream: ServerHttp2Stream, metadata: number, begin: () => void, refuse: () => void): void {
    const share = this.#shareOf(stream.session!);
    let held = 0;
    let isOver = false;
    const take = (bytes: number) => {
      if (isOver) return;
      held += bytes;
      share.calls += bytes;
      this.#calls += bytes;
    };
    const release = () => {
      take(-held);
      isOver = true;
    };
    (stream as Marked)[KNOWN] = () => {
      share.isKnown = true;
      release();
    };
    begin();
    if (isOver || stream.destroyed) return;
    take(CALL + metadata);
    stream.once('close', release);
    // Until somebody reads the message, Node holds a window of it, 64 KiB. Whoever reads it bounds it.
    let unread = 0;
    let isFull = false;
    const push = stream.push;
    stream.push = (chunk: Buffer | null) => {
      if (chunk === null) return push.call(stream, chunk);
      share.messages += chunk.length;
      if (stream.closed || isFull) return false;
      if (!this.#fits(share, chunk.length)) {
        isFull = true;
        // Now, while Node reads, the reset would overtake the answer.
        setImmediate(refuse);
        return false;
      }
      unread += chunk.length;
      take(chunk.length);
      // The chunk is a view of all that was read from the socket at once, and would keep that.
      return push.call(stream, Buffer.from(chunk));
    };
    const read = () => {
      // The library begins with a pause, and Node reports even that as an end of a pause.
      if (stream.isPaused()) return;
      stream.off('resume', read);
      stream.push = push;
      take(-unread);
    };
    stream.on('resume', read);
  }

  /**
   * Counts the bytes of connections without a known caller that may belong to headers without an end: those since the
   * last call began that are no message, and those that were read with it. Ends the connections for which they are more
   * than their part, the largest first.
   */
  #look(sessions: Iterable<Http2Session>): void {
    const strangers: [Http2Session, Share][] = [];
    this.#headers = 0;
    for (const session of sessions) {
      const share = this.#shareOf(session);
      const read = session.destroyed || share.isKnown ? 0 : session.socket.bytesRead;
      share.headers = Math.min(read, Math.max(0, read - share.begun - share.messages + READ));
      this.#headers += share.headers;
      if (read > 0) strangers.push([session, share]);
    }
    strangers.sort(([, one], [, other]) => other.headers - one.headers);
    for (const [session, { headers }] of strangers) {
      if (headers <= this.#part) return;
      this.#headers -= headers;
      breakOff(session);
    }
  }

  /** The most bytes of one connection, as things stand. */
  get #part(): number {
    return (MAX_HELD - this.#calls - this.#headers) / PART;
  }

  #fits({ held }: Share, bytes: number): boolean {
    return held + bytes <= this.#part;
  }

  #shareOf(session: Http2Session): Share {
    const known = this.#shares.get(session);
    if (known !== undefined) return known;
    const share = new Share();
    this.#shares.set(session, share);
    return share;
  }
}

/** Ends a connection that holds more than its part, with all its calls. */
export const breakOff = (session: Http2Session): void =>
  session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
