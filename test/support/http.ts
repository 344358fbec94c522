import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect } from 'vitest';
import { ERRORS, type Reason } from '../../src/domain/errors.ts';

/** A complete HTTP response. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Options of a request. */
export interface RequestParts {
  readonly headers?: OutgoingHttpHeaders;
  /** Sent unchanged, with Content-Type application/json unless `headers` has another, or null for none. */
  readonly body?: string | Buffer;
  /** Sends the body chunked instead of with Content-Length. */
  readonly chunked?: boolean;
}

/** Sends one request and reads the complete response. Rejects if the connection breaks before. */
export type Send = (method: string, path: string, parts?: RequestParts) => Promise<Reply>;

/** A client of a service, with a token by default. Sends the path unchanged, and keeps no connection. */
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

/** Sends bytes on a new connection, and returns everything received until it closes. */
export async function exchange(url: string, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  return (await buffer(socket)).toString();
}

/** The statuses of answers, in their order, as far as they came. */
export const statusesIn = (answers: string): number[] =>
  Array.from(answers.matchAll(/HTTP\/1\.1 (\d+) /g), ([, status]) => Number(status));

/**
 * Expects an Error of the REST contract: status, code, a matching reason, and a body of exactly two members. Returns
 * the message.
 */
export function expectError(reply: Reply, status: number, code: number): string {
  expect({ status: reply.status, type: reply.headers['content-type'] }, reply.text).toEqual({
    status,
    type: expect.stringMatching(/^application\/json(; charset=utf-8)?$/),
  });
  const reason = String(reply.headers['plantstore-reason']);
  expect({ reason, ...ERRORS[reason as Reason] }).toMatchObject({ reason, status, code });
  const body = JSON.parse(reply.text);
  expect(body).toEqual({ error: code, message: expect.stringMatching(/./) });
  return body.message;
}
