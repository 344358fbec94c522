import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Code, ConnectError } from '@connectrpc/connect';
import { errorToJsonBytes } from '@connectrpc/connect/protocol-connect';
import type { PlantStoreError } from '../../domain/errors.ts';
import type { Protocol } from '../../observe/request.ts';
import { OVERLOADED } from '../admission/admission.ts';
import { detailsOf } from '../failure.ts';
import { errorBody, JSON_TYPE, REASON_HEADER } from './error-body.ts';

/** The path of a method of Connect or gRPC-Web: `/package.Service/Method`. */
const RPC_PATH = /^\/\w+(\.\w+)+\/\w/;

/** Rendered once, so that a refusal is cheap. */
interface RenderedRefusal {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const rendered = (type: string, body: string, headers = {}): RenderedRefusal => ({
  headers: {
    'content-type': type,
    'content-length': String(Buffer.byteLength(body)),
    'retry-after': String(OVERLOADED.details.retryAfter),
    [REASON_HEADER]: OVERLOADED.reason,
    ...headers,
  },
  body,
});

/** The body of a Connect error, in JSON, for a request that does not reach Connect. */
const connectErrorBody = (error: PlantStoreError): string =>
  Buffer.from(
    errorToJsonBytes(new ConnectError(error.message, error.code as Code, undefined, [...detailsOf(error)]), undefined),
  ).toString();

const OF_REST = rendered(JSON_TYPE, errorBody(OVERLOADED));
const OF_CONNECT = rendered('application/json', connectErrorBody(OVERLOADED));
const OF_GRPC_WEB = rendered('application/grpc-web+proto', '', {
  'grpc-status': String(OVERLOADED.code),
  'grpc-message': encodeURIComponent(OVERLOADED.message),
});

/** The protocol of a request, as far as it can be told before routing. */
export function claimedProtocolOf({ url, headers }: IncomingMessage): Protocol {
  if (!RPC_PATH.test(url!)) return 'rest';
  return headers['content-type']?.startsWith('application/grpc-web') ? 'grpc_web' : 'connect';
}

/**
 * Answers OVERLOADED with 503, in the form of the protocol. Clients of Connect streams and gRPC-Web map the status to
 * UNAVAILABLE. So proxies see a failure, and no message needs framing.
 */
export function refuse(response: ServerResponse, protocol: Protocol): void {
  const { headers, body } = refusalOf(protocol);
  response.writeHead(OVERLOADED.status, headers);
  response.end(body, 'latin1');
}

function refusalOf(protocol: Protocol): RenderedRefusal {
  if (protocol === 'rest') return OF_REST;
  return protocol === 'grpc_web' ? OF_GRPC_WEB : OF_CONNECT;
}
