import { fromBinary } from '@bufbuild/protobuf';
import { type Metadata, type Server, type ServerDuplexStream, status } from '@grpc/grpc-js';
import {
  ForwardingService,
  type ForwardRequest,
  ForwardRequestSchema,
  type ForwardResponse,
} from '../../../gen/plantstore/internal/v1/forwarding_service_pb.ts';
import type { Receiver } from '../../log/forward/receiver.ts';
import { definitionOf } from '../grpc/definition.ts';

/** The metadata key of the secret. */
export const SECRET = 'plantstore-secret';

type Call = ServerDuplexStream<ForwardRequest, ForwardResponse>;

const REFUSED = {
  code: status.PERMISSION_DENIED,
  details: 'this service is internal to the instances of this log',
};

/**
 * Adds plantstore.internal.v1.ForwardingService to a server. It admits only callers with the secret of the lease that
 * this instance holds as the writer; tokens do not count. `receiver`: undefined until this instance takes commands from
 * others.
 */
export function addForwarding(
  server: Pick<Server, 'addService'>,
  receiver: () => Pick<Receiver, 'admits' | 'begin'> | undefined,
): void {
  const { forward } = definitionOf(ForwardingService);
  // Keeps unknown fields, so that a command with one is noticed.
  const requestDeserialize = (bytes: Buffer) => fromBinary(ForwardRequestSchema, bytes);
  server.addService(
    { forward: { ...forward!, requestDeserialize } },
    {
      forward: (call: Call) => {
        const open = receiver();
        if (open?.admits(secretOf(call.metadata)) === true) serve(call, open);
        else call.emit('error', REFUSED);
      },
    },
  );
}

/** The secret in a call's metadata, which other instances show. */
const secretOf = (metadata: Metadata): string => String(metadata.get(SECRET)[0] ?? '');

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
