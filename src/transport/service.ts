import type { DescService } from '@bufbuild/protobuf';
import type { Authenticator } from '../auth/authenticator.ts';
import type { StreamingCall } from '../plants/call.ts';

/**
 * A service as gRPC and Connect serve it: its descriptor, and its methods by their local names. Each takes a decoded request
 * and answers with a response message, or with a stream of them. Methods of the same descriptor fits.
 */
export interface Service {
  readonly desc: DescService;
  /** Who its callers are over gRPC, where it is not for the callers of all others. */
  readonly authenticate?: Authenticator['authenticate'];
  readonly methods: {
    readonly [localName: string]: (request: never, call: StreamingCall) => Promise<object> | AsyncIterable<object>;
  };
}
