import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2';

/** Most bytes of memory that unknown callers hold together. */
const MAX_HELD = 64 * 1024 * 1024;

/** What is left to them once that was too much: so that the connections are put in order seldom. */
const LEFT = 48 * 1024 * 1024;

/** What a call holds beside its metadata and its message, in bytes: the objects of Node and of the library. */
const CALL = 4 * 1024;

/** Most bytes that Node reads from a socket at once. */
const READ = 64 * 1024;

/** Milliseconds between two looks at what connections have sent. */
const LOOK = 250;

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
  /** The connection is closed, or will be: nothing of it counts. */
  isOver = false;

  get held(): number {
    return this.calls + this.headers;
  }
}

const UNKNOWN = Symbol('unknown');

interface Marked {
  [UNKNOWN]?: UnknownCall;
}

/** The caller of this call is known and has bounds of its own. The call counts no more. */
export function knownCaller(stream: ServerHttp2Stream): void {
  const call = (stream as Marked)[UNKNOWN];
  if (call === undefined) return;
  call.share.isKnown = true;
  call.release();
}

/**
 * Bounds the memory of all unknown callers together: calls that wait for admission or for the verification of their
 * token, calls that need no token, refused calls whose answer is not read, and headers that do not end. The bounds of a
 * connection do not bound many connections.
 *
 * When they hold too much, the connections that hold most are ended, those first on which nobody has shown a token. So
 * whoever holds little is served, however many others take what they can.
 */
export class Strangers {
  readonly #end: (session: Http2Session) => void;
  readonly #shares = new Map<Http2Session, Share>();
  #held = 0;

  /** `end` ends a connection for good. */
  constructor(end: (session: Http2Session) => void) {
    this.#end = end;
  }

  /** Looks at the open connections from time to time, until the timer that it returns is cleared. */
  watch(sessions: () => Iterable<Http2Session>): NodeJS.Timeout {
    return setInterval(() => this.#look(sessions()), LOOK).unref();
  }

  /** A call that begins. It counts from `UnknownCall.count` until its caller is known or its stream is closed. */
  begin(stream: ServerHttp2Stream): UnknownCall {
    const session = stream.session!;
    const share = this.#shareOf(session);
    share.begun = session.socket.bytesRead;
    share.messages = 0;
    const call = new UnknownCall(share, (bytes) => this.#take(share, bytes));
    (stream as Marked)[UNKNOWN] = call;
    return call;
  }

  #take(share: Share, bytes: number): void {
    if (share.isOver) return;
    share.calls += bytes;
    this.#held += bytes;
    if (bytes > 0) this.#endLargest();
  }

  /**
   * Counts the bytes of connections without a known caller that may belong to headers without an end: those since the
   * last call began that are no message, and those that were read with it.
   */
  #look(sessions: Iterable<Http2Session>): void {
    for (const session of sessions) {
      if (session.destroyed) continue;
      const share = this.#shareOf(session);
      const read = share.isKnown ? 0 : session.socket.bytesRead;
      const headers = Math.min(read, Math.max(0, read - share.begun - share.messages + READ));
      this.#held += headers - share.headers;
      share.headers = headers;
    }
    this.#endLargest();
  }

  #endLargest(): void {
    if (this.#held <= MAX_HELD) return;
    const byHeld = [...this.#shares].sort(
      ([, one], [, other]) => Number(one.isKnown) - Number(other.isKnown) || other.held - one.held,
    );
    for (const [session, share] of byHeld) {
      if (this.#held <= LEFT) return;
      this.#forget(session, share);
      this.#end(session);
    }
  }

  #shareOf(session: Http2Session): Share {
    const known = this.#shares.get(session);
    if (known !== undefined) return known;
    const share = new Share();
    this.#shares.set(session, share);
    session.once('close', () => this.#forget(session, share));
    return share;
  }

  #forget(session: Http2Session, share: Share): void {
    if (share.isOver) return;
    share.isOver = true;
    this.#held -= share.held;
    this.#shares.delete(session);
  }
}

/** A call whose caller is not known yet. It refers to nothing of the request, since it lasts as long as its stream. */
export class UnknownCall {
  readonly share: Share;
  readonly #take: (bytes: number) => void;
  #held = 0;
  #isOver = false;

  constructor(share: Share, take: (bytes: number) => void) {
    this.share = share;
    this.#take = take;
  }

  /** Counts the call with so many bytes of metadata, unless its caller is known already. */
  count(stream: ServerHttp2Stream, metadata: number): void {
    if (this.#isOver || stream.destroyed) return;
    stream.once('close', () => this.release());
    this.#countMessage(stream);
    this.#hold(CALL + metadata);
  }

  /** Counts the call no more. */
  release(): void {
    this.#hold(-this.#held);
    this.#isOver = true;
  }

  #hold(bytes: number): void {
    if (this.#isOver) return;
    this.#held += bytes;
    this.#take(bytes);
  }

  /** Until somebody reads the message, Node holds a window of it, 64 KiB. Whoever reads it bounds it. */
  #countMessage(stream: ServerHttp2Stream): void {
    let unread = 0;
    const push = stream.push;
    stream.push = (chunk: Buffer | null) => {
      if (chunk === null) return push.call(stream, chunk);
      this.share.messages += chunk.length;
      if (this.#isOver) return push.call(stream, chunk);
      unread += chunk.length;
      // The chunk is a view of all that was read from the socket at once, and would keep that.
      const isWanted = push.call(stream, Buffer.from(chunk));
      this.#hold(chunk.length);
      return isWanted;
    };
    const read = () => {
      // The library begins with a pause, and Node reports even that as an end of a pause.
      if (stream.isPaused()) return;
      stream.off('resume', read);
      stream.push = push;
      this.#hold(-unread);
    };
    stream.on('resume', read);
  }
}

/** Ends the calls of a connection that holds too much, and tells its client (RFC 9113, section 6.8). */
export function breakOff(session: Http2Session): void {
  session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  session.destroy();
}
