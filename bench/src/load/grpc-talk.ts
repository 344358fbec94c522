import type { Socket } from 'node:net';
import type { Count } from './crowd.ts';
import { FLAG, FRAME, FrameReader, frame } from './frames.ts';
import { OPENING, PREFACE, SETTINGS_ACK } from './grpc-lines.ts';

/** CANCEL (RFC 9113, section 7). */
const CANCEL = Buffer.from([0, 0, 0, 8]);

/** Calls of gRPC, so many at a time. */
export interface Calls {
  /** The header block of each. */
  readonly headers: Buffer;
  /** With its prefix. */
  readonly message: Buffer;
  readonly atOnce: number;
}

/**
 * Makes calls on a connection, the next when one has ended. Counts whether they got a message, a status alone or a
 * reset.
 */
export function talkGrpc(socket: Socket, count: Count, { headers, message, atOnce }: Calls): void {
  let stream = 1;
  const served = new Set<number>();
  const begin = () => {
    socket.write(
      Buffer.concat([
        frame(FRAME.headers, FLAG.endHeaders, stream, headers),
        frame(FRAME.data, FLAG.endStream, stream, message),
      ]),
    );
    stream += 2;
  };
  hear(socket, (type, flags, of) => {
    if (type === FRAME.data) served.add(of);
    if (type !== FRAME.reset && (type !== FRAME.headers || (flags & FLAG.endStream) === 0)) return;
    count(type === FRAME.reset ? 'reset' : served.delete(of) ? 'message' : 'status alone');
    begin();
  });
  socket.write(OPENING);
  for (let call = 0; call < atOnce; call++) begin();
}

/** Begins calls and cancels each at once, as many as the connection takes. */
export function talkResets(socket: Socket, count: Count, { headers, atOnce }: Omit<Calls, 'message'>): void {
  let stream = 1;
  const more = () => {
    const frames: Buffer[] = [];
    for (let call = 0; call < atOnce; call++, stream += 2)
      frames.push(frame(FRAME.headers, FLAG.endHeaders, stream, headers), frame(FRAME.reset, 0, stream, CANCEL));
    socket.write(Buffer.concat(frames), (error) => {
      if (error) return;
      count(`${atOnce} resets sent`);
      setImmediate(more);
    });
  };
  hear(socket, () => {});
  socket.write(OPENING);
  more();
}

/** Frames that open the window of a connection by one byte each, 64 KB of them (RFC 9113, section 6.9). */
const WINDOW_UPDATES = Buffer.concat(
  Array.from({ length: 5_000 }, () => frame(FRAME.windowUpdate, 0, 0, Buffer.from([0, 0, 0, 1]))),
);

/** Sends frames that are no call, as many as the connection takes. */
export function talkWindowUpdates(socket: Socket, count: Count): void {
  const more = () => {
    socket.write(WINDOW_UPDATES, (error) => {
      if (error) return;
      count('5,000 frames sent');
      setImmediate(more);
    });
  };
  hear(socket, () => {});
  socket.write(PREFACE);
  more();
}

/**
 * Begins calls in one write, sends other frames behind them, and leaves after so many milliseconds: another one comes.
 */
export function talkBriefly(socket: Socket, count: Count, { blocks, behind }: Brief, leave: number): void {
  hear(socket, () => {});
  const calls = blocks.map((block, call) => frame(FRAME.headers, FLAG.endHeaders, 2 * call + 1, block));
  socket.write(Buffer.concat([OPENING, ...calls, ...behind]), (error) => {
    if (error) return;
    count(`${blocks.length} calls sent`);
    setTimeout(() => socket.resetAndDestroy(), leave);
  });
}

/** The header blocks of calls, and the frames behind them. */
export interface Brief {
  readonly blocks: readonly Buffer[];
  readonly behind: readonly Buffer[];
}

/** Begins calls, and cancels all of them so many milliseconds later, again and again. */
export function talkLateResets(socket: Socket, count: Count, { headers, message, atOnce }: Calls, after: number): void {
  let stream = 1;
  const more = () => {
    const [calls, resets]: [Buffer[], Buffer[]] = [[], []];
    for (let call = 0; call < atOnce; call++, stream += 2) {
      calls.push(
        frame(FRAME.headers, FLAG.endHeaders, stream, headers),
        frame(FRAME.data, FLAG.endStream, stream, message),
      );
      resets.push(frame(FRAME.reset, 0, stream, CANCEL));
    }
    socket.write(Buffer.concat(calls));
    setTimeout(() => {
      if (socket.destroyed) return;
      socket.write(Buffer.concat(resets));
      count(`${atOnce} resets sent`);
      more();
    }, after);
  };
  hear(socket, () => {});
  socket.write(OPENING);
  more();
}

/** Takes the frames of a connection. */
function hear(socket: Socket, found: (type: number, flags: number, stream: number) => void): void {
  const frames = new FrameReader((type, flags, stream) => {
    if (type === FRAME.settings && (flags & FLAG.ack) === 0) socket.write(SETTINGS_ACK);
    found(type, flags, stream);
  });
  socket.on('data', (chunk) => frames.read(chunk, chunk.length));
}
