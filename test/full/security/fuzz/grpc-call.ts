import http2, { type ClientHttp2Session } from 'node:http2';
import { fromBinary } from '@bufbuild/protobuf';
import { expect } from 'vitest';
import {
  CreatePlantResponseSchema,
  DeletePlantResponseSchema,
} from '../../../../gen/plantstore/v1/plant_store_service_pb.ts';
import type { GrpcRequest } from './grpc-grammar.ts';
import type { Acknowledged } from './judge.ts';

/** Milliseconds after which a call without an answer is cancelled. */
const PATIENCE = 2_000;
/** Milliseconds after the beginning of an answer after which a call that may never end is cancelled. */
const ANSWERED_PATIENCE = 300;
/** Milliseconds after which one that was cancelled must have ended. */
const HANG_LIMIT = 30_000;

/**
 * Makes a call, expects an answer that gRPC allows, and returns the write that it acknowledges, if it does. A call that goes on
 * is cancelled after a while.
 */
export async function grpcCall(
  session: ClientHttp2Session,
  { headers, body }: GrpcRequest,
): Promise<Acknowledged | undefined> {
  const { http, status, message } = await outcome(session, headers, body);
  if (http !== undefined) expect([200, 400, 404, 405, 415, 431]).toContain(http);
  if (status !== undefined) expect(status).toBeLessThanOrEqual(16);
  const path = String(headers[':path']);
  if (status !== 0 || message === undefined) return undefined;
  if (path.endsWith('/CreatePlant')) {
    const { position, plant } = fromBinary(CreatePlantResponseSchema, message);
    const { name, tag } = plant!;
    return { position: Number(position), plant: tag === undefined ? { name } : { name, tag } };
  }
  if (!path.endsWith('/DeletePlant')) return undefined;
  return { position: Number(fromBinary(DeletePlantResponseSchema, message).position), plant: undefined };
}

interface Outcome {
  readonly http?: number;
  readonly status?: number;
  readonly message?: Buffer;
}

function outcome(session: ClientHttp2Session, headers: GrpcRequest['headers'], body: Buffer): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    let found: Outcome = {};
    const chunks: Buffer[] = [];
    const take = (fields: http2.IncomingHttpHeaders & { ':status'?: number | undefined }) => {
      if (fields[':status'] !== undefined) found = { ...found, http: fields[':status'] };
      if (fields['grpc-status'] !== undefined) found = { ...found, status: Number(fields['grpc-status']) };
    };
    const call = session.request({
      ':method': 'POST',
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    });
    const cancel = () => call.close(http2.constants.NGHTTP2_CANCEL);
    let patience = setTimeout(cancel, PATIENCE);
    const limit = setTimeout(() => reject(new Error('the call hangs')), HANG_LIMIT);
    call
      .on('response', (fields) => {
        take(fields);
        clearTimeout(patience);
        patience = setTimeout(cancel, ANSWERED_PATIENCE);
      })
      .on('trailers', take)
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('error', () => {})
      .on('close', () => {
        clearTimeout(patience);
        clearTimeout(limit);
        const bytes = Buffer.concat(chunks);
        resolve(bytes.length < 5 ? found : { ...found, message: bytes.subarray(5) });
      });
    call.end(body);
  });
}
