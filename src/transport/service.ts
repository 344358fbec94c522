import type { DescService } from '@bufbuild/protobuf';
import type { Authenticator } from '../auth/authenticator.ts';
import type { StreamingCall } from '../call.ts';

/**
 * A service for gRPC and Connect: its descriptor, and its methods by local name. Each method takes a decoded request
 * and returns a response message or a stream of them. The methods must match the descriptor.
 */
export interface Service {
  readonly desc: DescService;
  /** Authenticates callers over gRPC, if the service has callers of its own. */
  readonly authenticate?: Authenticator['authenticate'];
  readonly methods: {
    readonly [localName: string]: (request: never, call: StreamingCall) => Promise<object> | AsyncIterable<object>;
  };
}
