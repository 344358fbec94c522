import { fromBinary } from '@bufbuild/protobuf';
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import {
  ForwardingService,
  type ForwardRequest,
  ForwardRequestSchema,
  type ForwardResponse,
} from '../../../gen/plantstore/internal/v1/forwarding_service_pb.ts';
import type { Receiver } from '../../log/forward/receiver.ts';
import { definitionOf, type Registry } from '../grpc/definition.ts';

/** The metadata key of the secret. */
export const SECRET = 'plantstore-secret';

type Call = ServerDuplexStream<ForwardRequest, ForwardResponse>;

/**
 * Adds plantstore.internal.v1.ForwardingService to a server, which lets none but other instances call it: see
 * `isInstance` in GrpcServerOptions. `receiver`: that of this instance, once any may.
 */
export function addForwarding(server: Registry, receiver: () => Pick<Receiver, 'begin'>): void {
  const { forward } = definitionOf(ForwardingService);
  // Keeps unknown fields, so that a command with one is noticed.
  const requestDeserialize = (bytes: Buffer) => fromBinary(ForwardRequestSchema, bytes);
  server.addService(
    { forward: { ...forward!, requestDeserialize } },
    { forward: (call: Call) => serve(call, receiver()) },
  );
}

function serve(call: Call, receiver: Pick<Receiver, 'begin'>): void {
  const reception = receiver.begin(
    (response) => {
      if (!call.destroyed && !call.writableEnded) call.write(response);
    },
    () => call.end(),
  );
  call.on('data', (request: ForwardRequest) => {
    try {
      reception.receive(request);
    } catch (thrown) {
      call.emit('error', { code: status.UNIMPLEMENTED, details: String(thrown) });
    }
  });
  call.on('end', () => reception.finish());
  for (const over of ['cancelled', 'error', 'close']) call.on(over, () => reception.abandon());
}
