import { randomUUID } from 'node:crypto';
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RequestInfoSchema,
  RetryInfoSchema,
} from '../../gen/google/rpc/error_details_pb.ts';
import { PlantStoreError, toPlantStoreError } from '../domain/errors.ts';
import { isToldOnce } from '../log/unavailable.ts';
import { type Logger, messageOf } from '../observe/logger.ts';
import { nameOf, sampler } from '../observe/sparing.ts';

/** The domain of the reasons in an ErrorInfo (AIP-193). */
const DOMAIN = 'plantstore';

/** One detail of a google.rpc.Status. */
interface Detail<Desc extends DescMessage = DescMessage> {
  readonly desc: Desc;
  readonly value: MessageInitShape<Desc>;
}

/** What the caller of a failed gRPC or Connect call gets. */
export interface RpcError {
  readonly error: PlantStoreError;
  /** ErrorInfo always; BadRequest, RetryInfo and RequestInfo where they help. */
  readonly details: readonly Detail[];
}

type FailureLog = Pick<Logger, 'error' | 'warn'>;

/** The first of a kind in a minute. */
const sample = sampler(60_000, 1);

/**
 * Logs a failure that is not the caller's under the request id. Each internal one has a line, because its caller gets
 * the id to report, and the first of a kind in a minute has its stack. Of others with a cause of which the instance
 * does not tell by itself, that first one has a line: a full disk refuses every write.
 */
export function logFailure(error: PlantStoreError, log: FailureLog, requestId: string): void {
  const isInternal = error.reason === 'INTERNAL';
  const cause = error.cause ?? (isInternal ? error : undefined);
  if (error.status < 500 || cause === undefined || isToldOnce(cause)) return;
  const repeated = sample(nameOf(cause));
  if (!isInternal) {
    if (repeated !== undefined) log.warn({ err: cause, requestId, ...(repeated > 0 && { repeated }) }, error.message);
    return;
  }
  const isBrief = repeated === undefined && cause instanceof Error;
  log.error({ err: isBrief ? { type: cause.name, message: messageOf(cause) } : cause, requestId }, error.message);
}

/**
 * Maps any thrown value to the error of a call, and logs it if it is not the caller's. A value that is not a
 * PlantStoreError is internal: the caller gets only the request id (RequestInfo).
 */
export function rpcErrorOf(thrown: unknown, log: FailureLog, requestId: string = randomUUID()): RpcError {
  const error = toPlantStoreError(thrown);
  const details = detailsOf(error);
  logFailure(error, log, requestId);
  if (error !== thrown) details.push(detail(RequestInfoSchema, { requestId }));
  return { error, details };
}

/** The details of an error beyond code and message: ErrorInfo, and BadRequest and RetryInfo where they help. */
function detailsOf({ reason, message, details: { field, retryAfter } }: PlantStoreError): Detail[] {
  const details: Detail[] = [detail(ErrorInfoSchema, { reason, domain: DOMAIN })];
  if (field !== undefined)
    details.push(detail(BadRequestSchema, { fieldViolations: [{ field, description: message, reason }] }));
  if (retryAfter !== undefined)
    details.push(detail(RetryInfoSchema, { retryDelay: durationFromMs(retryAfter * 1000) }));
  return details;
}

/** The error that ends streams that are still open when the server stops. */
export const stopping = () => new PlantStoreError('SHUTTING_DOWN', 'this instance is shutting down; use another one');

const detail = <Desc extends DescMessage>(desc: Desc, value: MessageInitShape<Desc>): Detail<Desc> => ({ desc, value });
