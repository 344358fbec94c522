import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect } from 'vitest';
import { ERRORS, type Reason } from '../../src/domain/errors.ts';

/** A whole HTTP answer. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** What a request has beside its method and path. */
export interface RequestParts {
  readonly headers?: OutgoingHttpHeaders;
  /** Sent as it is; with a Content-Type of application/json unless `headers` has another, or null for none. */
  readonly body?: string | Buffer;
  /** Sends the body chunked instead of with Content-Length. */
  readonly chunked?: boolean;
}

/** Sends one request and reads the whole answer. Rejects when the connection breaks before its end. */
export type Send = (method: string, path: string, parts?: RequestParts) => Promise<Reply>;

/** A client of a service, with a token unless it is to have none. It sends the path as it is, and keeps no connection. */
export function client(url: string, token?: string): Send {
  return async (method, path, { headers = {}, body, chunked = false } = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const { hostname, port } = new URL(url);
    const all: OutgoingHttpHeaders = {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(body !== undefined &&
        (chunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': Buffer.byteLength(body) })),
      ...headers,
    };
    const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null && value !== undefined));
    const call = request({ hostname, port, method, path, headers: sent, agent: false }, (response) => {
      buffer(response).then(
        (bytes) => resolve({ status: response.statusCode!, headers: response.headers, text: bytes.toString() }),
        reject,
      );
    });
    call.on('error', reject);
    call.end(body);
    return promise;
  };
}

/** Sends bytes as they are on a connection of their own, and returns all that comes back until it is closed. */
export async function exchange(url: string, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  return (await buffer(socket)).toString();
}

/** Expects an Error of the REST contract: the status, the code, a reason that has both, and a body of exactly two members. Returns its message. */
export function expectError(reply: Reply, status: number, code: number): string {
  expect({ status: reply.status, type: reply.headers['content-type'] }, reply.text).toEqual({
    status,
    type: expect.stringMatching(/^application\/json(; charset=utf-8)?$/),
  });
  const reason = String(reply.headers['plantstore-reason']);
  expect({ reason, ...ERRORS[reason as Reason] }).toEqual({ reason, status, code });
  const body = JSON.parse(reply.text);
  expect(body).toEqual({ error: code, message: expect.stringMatching(/./) });
  return body.message;
}
