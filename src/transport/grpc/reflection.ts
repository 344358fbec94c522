import { type DescFile, type DescService, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { Server, ServerDuplexStream } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { service as healthService } from 'grpc-health-check';
import { file_google_rpc_error_details } from '../../../gen/google/rpc/error_details_pb.ts';
import { standardDescriptor } from './standard-descriptor.ts';

type Call = ServerDuplexStream<object, object>;

/** Adds grpc.reflection, v1 and v1alpha, on these services, the details of errors, and grpc.health.v1. Asks for no token. */
export function addReflection(server: Server, services: readonly DescService[]): void {
  const files = new Set<DescFile>();
  for (const { file } of services) collect(file, files);
  collect(file_google_rpc_error_details, files);
  const { requestType } = healthService.Check!;
  const protos = [...files].map(({ proto }) => proto).concat(requestType.fileDescriptorProtos.map(standardDescriptor));
  const fileDescriptorProtos = protos.map((proto) => Buffer.from(toBinary(FileDescriptorProtoSchema, proto)));
  // Of a definition, the library looks at the files alone.
  new ReflectionService({ definition: { ...requestType, fileDescriptorProtos } }).addToServer({
    addService: (definition, { ServerReflectionInfo: info }) =>
      server.addService(definition, {
        ServerReflectionInfo: (call: Call) => (info as (call: Call) => void)(inStep(call)),
      }),
  });
}

function collect(file: DescFile, files: Set<DescFile>): void {
  if (files.has(file)) return;
  files.add(file);
  for (const dependency of file.dependencies) collect(dependency, files);
}

/** A call whose requests wait while its answers are not taken: the library would hold all of them. */
function inStep(call: Call): Call {
  const write = call.write.bind(call) as (answer: object) => boolean;
  call.on('drain', () => call.resume());
  return Object.assign(call, {
    write: (answer: object) => {
      const taken = write(answer);
      if (!taken) call.pause();
      return taken;
    },
  });
}
