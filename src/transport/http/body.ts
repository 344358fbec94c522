import type { IncomingMessage } from 'node:http';
import { PlantStoreError } from '../../domain/errors.ts';
import { JsonText } from '../../json/json-text.ts';
import { MAX_MESSAGE } from '../call-limits.ts';
import { answerOn } from './connection.ts';

/** Called once, with the complete body or with the error to answer. */
type Done = (error: Error | null, body?: Buffer) => void;

// Made once, it costs nothing a request.
const TOO_LARGE = new PlantStoreError('BODY_TOO_LARGE', 'the body must have at most 64 KiB');

/**
 * Reads the body of an authenticated request. Keeps no byte beyond MAX_MESSAGE: a larger body fails with
 * BODY_TOO_LARGE, before its first byte if `announced` (its Content-Length) says so.
 */
export function readBody(request: IncomingMessage, announced: string | undefined, done: Done): void {
  if (Number(announced) > MAX_MESSAGE) {
    done(TOO_LARGE);
    return;
  }
  // Of a request without a body, no event comes.
  if (request.readableEnded) {
    done(null, Buffer.alloc(0));
    return;
  }
  let body: Buffer | undefined;
  let size = 0;
  const stop = () => request.off('data', take).off('end', end).off('error', leave).off('close', leave);
  const fail = (error: Error) => {
    stop();
    done(error);
  };
  const leave = () => fail(new PlantStoreError('CANCELLED', 'the client went away before its request was complete'));
  const take = (chunk: Buffer) => {
    const begun = size;
    size += chunk.length;
    if (size > MAX_MESSAGE) fail(TOO_LARGE);
    else body = body === undefined ? chunk : appended(body, begun, chunk);
  };
  const end = () => {
    stop();
    done(null, body?.subarray(0, size) ?? Buffer.alloc(0));
  };
  request.on('data', take).on('end', end).on('error', leave).on('close', leave);
  // 100 Continue goes out only now, when the body will be read (RFC 9110, section 10.1.1).
  if (request.httpVersion === '1.1' && request.headers.expect?.toLowerCase() === '100-continue')
    answerOn(request.socket)?.writeContinue();
}

/** A body with a chunk behind it. It grows by doubling: a list of chunks of a byte would take a hundred times. */
function appended(body: Buffer, size: number, chunk: Buffer): Buffer {
  let larger = body;
  if (size + chunk.length > body.length) {
    larger = Buffer.allocUnsafeSlow(Math.min(2 * (size + chunk.length), MAX_MESSAGE));
    body.copy(larger, 0, 0, size);
  }
  chunk.copy(larger, size);
  return larger;
}

/** Reads a body in JSON (RFC 8259), in UTF-8, in which no object names a member twice. Throws MALFORMED_REQUEST. */
export function readJsonBody(body: Buffer): JsonText {
  try {
    return new JsonText(body);
  } catch (error) {
    throw malformedBody(`is ${(error as SyntaxError).message}`);
  }
}

/** The error of a body that is not what it must be. */
export const malformedBody = (problem: string): PlantStoreError =>
  new PlantStoreError('MALFORMED_REQUEST', `the body ${problem}`);
