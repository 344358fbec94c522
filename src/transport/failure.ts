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
import type { Logger } from '../observe/logger.ts';

/** The domain of the reasons in an ErrorInfo (AIP-193). */
const DOMAIN = 'plantstore';

/** One detail of a google.rpc.Status. */
export interface Detail<Desc extends DescMessage = DescMessage> {
  readonly desc: Desc;
  readonly value: MessageInitShape<Desc>;
}

/** What the caller of a failed gRPC or Connect call gets. */
export interface RpcError {
  readonly error: PlantStoreError;
  /** ErrorInfo always; BadRequest, RetryInfo and RequestInfo where they help. */
  readonly details: readonly Detail[];
}

/**
 * Maps any thrown value to the error of a call. A value that is not a PlantStoreError is internal: it is logged under
 * the request id, and the caller gets only that id (RequestInfo).
 */
export function rpcErrorOf(thrown: unknown, log: Pick<Logger, 'error'>, requestId: string = randomUUID()): RpcError {
  const error = toPlantStoreError(thrown);
  const details = detailsOf(error);
  if (error !== thrown) {
    log.error({ err: thrown, requestId }, error.message);
    details.push(detail(RequestInfoSchema, { requestId }));
  }
  return { error, details };
}

/** The details of an error beyond code and message: ErrorInfo, and BadRequest and RetryInfo where they help. */
export function detailsOf({ reason, message, details: { field, retryAfter } }: PlantStoreError): Detail[] {
  const details: Detail[] = [detail(ErrorInfoSchema, { reason, domain: DOMAIN })];
  if (field !== undefined)
    details.push(detail(BadRequestSchema, { fieldViolations: [{ field, description: message, reason }] }));
  if (retryAfter !== undefined)
    details.push(detail(RetryInfoSchema, { retryDelay: durationFromMs(retryAfter * 1000) }));
  return details;
}

/** The error that ends streams that are still open when the server stops. */
export const stopping = () =>
  new PlantStoreError('OVERLOADED', 'this instance is shutting down; use another one', { retryAfter: 1 });

const detail = <Desc extends DescMessage>(desc: Desc, value: MessageInitShape<Desc>): Detail<Desc> => ({ desc, value });
