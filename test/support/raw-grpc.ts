import http2, { type ClientHttp2Session, type ClientHttp2Stream, type OutgoingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';

/** The outcome of a handwritten call. */
export interface RawEnd {
  /** HTTP status, if there was a response. */
  readonly http?: number;
  /** google.rpc.Code number, if there was one. */
  readonly status?: number;
  /** The google.rpc.Status of a failed call, if it had one. */
  readonly details?: Buffer;
  /** HTTP/2 error code of a reset stream. */
  readonly reset?: number;
}

/** A length-prefixed message of gRPC, optionally with a wrong length or flag. */
export function frame(message: Uint8Array, { length = message.length, compressed = 0 } = {}): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(compressed);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

/** Begins a call, of ListPlants unless the headers have another path. */
export const rawStream = (session: ClientHttp2Session, headers: OutgoingHttpHeaders = {}): ClientHttp2Stream =>
  session
    .request({
      ':method': 'POST',
      ':path': '/plantstore.v1.PlantStoreService/ListPlants',
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    })
    .on('error', () => {});

/** Sends one call with the given headers and bytes, and waits for its end. Never rejects. */
export function rawCall(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body: Uint8Array): Promise<RawEnd> {
  return new Promise((resolve) => {
    let end: RawEnd = {};
    const take = (fields: http2.IncomingHttpHeaders & { ':status'?: number }) => {
      if (fields[':status'] !== undefined) end = { ...end, http: fields[':status'] };
      if (fields['grpc-status'] !== undefined) end = { ...end, status: Number(fields['grpc-status']) };
      const details = fields['grpc-status-details-bin'];
      if (details !== undefined) end = { ...end, details: Buffer.from(String(details), 'base64') };
    };
    const stream = rawStream(session, headers).on('response', take).on('trailers', take).resume();
    stream.on('close', () => resolve(stream.rstCode === 0 ? end : { ...end, reset: stream.rstCode }));
    stream.end(body);
  });
}

/** A connection to a gRPC server for handwritten calls, on a socket of the caller if it gives one. */
export function rawSession(address: string, socket?: Socket): ClientHttp2Session {
  const session = http2.connect(`http://${address}`, {
    strictSingleValueFields: false,
    ...(socket && { createConnection: () => socket }),
  } as http2.ClientSessionOptions);
  session.on('error', () => {});
  return session;
}
