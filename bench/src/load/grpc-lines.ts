import { connect, type Socket } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { newPlant } from '../plants.ts';
import { FLAG, FRAME, FrameReader, frame, headerBlock } from './frames.ts';
import type { ArrivalsJob, GrpcTarget } from './job.ts';
import type { Line, Listener, OpenLine } from './line.ts';

/** Calls of one connection at once: fewer than the service allows. */
const CALLS = 100;
/** What every connection begins with (RFC 9113, section 3.4). */
export const PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frame(FRAME.settings, 0, 0, Buffer.alloc(0)),
]);
/** The largest window of a connection less the one that it begins with, so that none has to be given back. */
const MORE_WINDOW = Buffer.alloc(4);
MORE_WINDOW.writeUInt32BE(2 ** 31 - 1 - 65_535);
/** What a connection begins with that gets many answers. */
export const OPENING = Buffer.concat([PREFACE, frame(FRAME.windowUpdate, 0, 0, MORE_WINDOW)]);
/** The answer to the other side's settings. */
export const SETTINGS_ACK = frame(FRAME.settings, FLAG.ack, 0, Buffer.alloc(0));
/** Bytes of one read. All connections share them: what was read is looked at before the next read. */
const buffer = Buffer.allocUnsafe(256 * 1024);

/**
 * What an answer means as a status of HTTP. A call that is refused has trailers alone, and a call that is served has a
 * message before them. `BROKEN` is no status of HTTP.
 */
const [SERVED, REFUSED, BROKEN] = [200, 503, 0];

/** A call as the bytes of its header block and of its message. */
type Render = () => readonly [headers: Buffer, message: Buffer];

/**
 * Lines of gRPC: 100 on each connection. Frames are made by hand, because the libraries need more CPU for a call than
 * the service does, and could not send it more than it can take.
 */
export function grpcLines({ address, method }: GrpcTarget, { tokens, ids, limit }: ArrivalsJob): OpenLine {
  const { name, input } = PlantStoreService.method[method];
  const path = `/${PlantStoreService.typeName}/${name}`;
  const headers = tokens.map((token) => callHeaders(path, { authorization: `Bearer ${token}` }));
  const encode = (request: object) => framed(toBinary(input, create(input, request as never)));
  const list = encode({ limit });
  let [made, id] = [0, ids.from];
  const render: Render = () => [
    headers[made++ % headers.length]!,
    method === 'listPlants' ? list : encode({ plant: newPlant(id++) }),
  ];
  let connection: CallConnection | undefined;
  return (listener) => {
    if (connection === undefined || connection.isFull) connection = new CallConnection(address, render);
    return connection.line(listener);
  };
}

/** The header block of a call. */
export const callHeaders = (path: string, more: Readonly<Record<string, string>> = {}): Buffer =>
  headerBlock({
    ':method': 'POST',
    ':scheme': 'http',
    ':path': path,
    ':authority': 'localhost',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...more,
  });

/** A message of gRPC: not compressed, with its length. */
function framed(message: Uint8Array): Buffer {
  const bytes = Buffer.alloc(5 + message.length);
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, 5);
  return bytes;
}

/** A connection of HTTP/2. */
class CallConnection {
  readonly #socket: Socket;
  readonly #render: Render;
  readonly #lines: CallLine[] = [];
  /** The lines whose calls wait for their ends, by stream. */
  readonly #calls = new Map<number, CallLine>();
  #nextStream = 1;

  constructor(address: string, render: Render) {
    this.#render = render;
    const frames = new FrameReader((type, flags, stream) => this.#take(type, flags, stream));
    const callback = (length: number) => {
      frames.read(buffer, length);
      return true;
    };
    const [host, port] = address.split(':');
    this.#socket = connect({ host: host!, port: Number(port), noDelay: true, onread: { buffer, callback } });
    this.#socket
      .on('error', () => {})
      .on('close', () => {
        for (const line of this.#lines) line.ended();
      });
    this.#socket.write(OPENING);
  }

  get isFull(): boolean {
    return this.#lines.length === CALLS || this.#socket.destroyed;
  }

  line(listener: Listener): Line {
    const line = new CallLine(this, listener);
    this.#lines.push(line);
    return line;
  }

  begin(line: CallLine): void {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.#calls.set(stream, line);
    const [headers, message] = this.#render();
    this.#socket.write(
      Buffer.concat([
        frame(FRAME.headers, FLAG.endHeaders, stream, headers),
        frame(FRAME.data, FLAG.endStream, stream, message),
      ]),
    );
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(type: number, flags: number, stream: number): void {
    if (type === FRAME.settings && (flags & FLAG.ack) === 0) this.#socket.write(SETTINGS_ACK);
    const line = this.#calls.get(stream);
    if (line === undefined) return;
    if (type === FRAME.data) line.hasMessage = true;
    const ends = type === FRAME.headers && (flags & FLAG.endStream) !== 0;
    if (!ends && type !== FRAME.reset) return;
    this.#calls.delete(stream);
    line.answered(!ends ? BROKEN : line.hasMessage ? SERVED : REFUSED);
  }
}

/** One call at a time. */
class CallLine implements Line {
  readonly #connection: CallConnection;
  readonly #listener: Listener;
  #planned = 0;
  /** Whether its call has got a message. */
  hasMessage = false;

  constructor(connection: CallConnection, listener: Listener) {
    this.#connection = connection;
    this.#listener = listener;
  }

  send(planned: number): void {
    this.#planned = planned;
    this.hasMessage = false;
    this.#connection.begin(this);
  }

  /** Breaks off the whole connection: lines are closed together. */
  close(): void {
    this.#connection.destroy();
  }

  answered(status: number): void {
    this.#listener.answered(this, status, this.#planned);
  }

  ended(): void {
    this.#listener.closed(this);
  }
}
