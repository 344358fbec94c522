import type { IncomingMessage } from 'node:http';
import { PlantStoreError } from '../../domain/errors.ts';
import { MAX_MESSAGE } from '../message-size.ts';
import { entrantOf } from './entrant.ts';

/**
 * Called once, with the complete body or with the error to answer. Not called once the client has left a complete
 * request.
 */
type Done = (error: Error | null, body?: Buffer) => void;

// One shared error: a new one for each request would cost a stack trace.
const TOO_LARGE = new PlantStoreError('BODY_TOO_LARGE', 'the body must have at most 64 KiB');

/**
 * Reads the body of an authenticated request, and continues in a place once it is complete. Keeps no byte beyond
 * MAX_MESSAGE: a larger body fails with BODY_TOO_LARGE, before its first byte if `announced` (its Content-Length) says
 * so.
 */
export function readBody(request: IncomingMessage, announced: string | undefined, done: Done): void {
  if (Number(announced) > MAX_MESSAGE) {
    done(TOO_LARGE);
    return;
  }
  const entrant = entrantOf(request);
  const chunks: Buffer[] = [];
  let size = 0;
  const stop = () => request.off('data', take).off('end', end).off('error', leave).off('close', leave);
  const fail = (error: Error) => {
    stop();
    done(error);
  };
  const leave = () => fail(new PlantStoreError('CANCELLED', 'the client went away before its request was complete'));
  const take = (chunk: Buffer) => {
    size += chunk.length;
    if (size > MAX_MESSAGE) fail(TOO_LARGE);
    else chunks.push(chunk);
  };
  const end = () => {
    stop();
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size);
    if (entrant === undefined) done(null, body);
    else entrant.whole((error) => (error === undefined ? done(null, body) : done(error)));
  };
  request.on('data', take).on('end', end).on('error', leave).on('close', leave);
  entrant?.awaitBody((error) => fail(error!));
}
