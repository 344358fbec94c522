import { create, toBinary } from '@bufbuild/protobuf';
import { anyPack } from '@bufbuild/protobuf/wkt';
import { Metadata, type StatusObject } from '@grpc/grpc-js';
import { StatusSchema } from '../../../gen/google/rpc/status_pb.ts';
import type { RpcError } from '../failure.ts';

/**
 * The status of a failed call: its code and message, and both again with the details as a google.rpc.Status (AIP-193).
 */
export function statusOf({ error: { code, message }, details }: RpcError): StatusObject {
  const status = create(StatusSchema, {
    code,
    message,
    details: details.map(({ desc, value }) => anyPack(desc, create(desc, value))),
  });
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', Buffer.from(toBinary(StatusSchema, status)));
  return { code, details: message, metadata };
}
