import { type DescFile, type DescService, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { type Server, type ServerDuplexStream, status as Status } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { service as healthService } from 'grpc-health-check';
import { file_google_rpc_error_details } from '../../../../gen/google/rpc/error_details_pb.ts';
import { servedCallOf } from '../served-call.ts';
import { standardDescriptor } from './descriptor.ts';

type Call = ServerDuplexStream<object, object>;

/** Most concurrent streams. Tools open one for each lookup. */
const MAX_STREAMS = 32;
/** Most questions of a stream. A tool that reads everything asks about twenty; an answer has up to 30 KB. */
const MAX_QUESTIONS = 64;

/**
 * Adds grpc.reflection, v1 and v1alpha, for these services, the error details, and grpc.health.v1. Needs no token. A
 * stream that lasts longer than `timeout`, in seconds, loses its connection.
 */
export function addReflection(server: Server, services: readonly DescService[], timeout: number): void {
  const files = new Set<DescFile>();
  for (const { file } of services) collect(file, files);
  collect(file_google_rpc_error_details, files);
  const { requestType } = healthService.Check!;
  const protos = [...files].map(({ proto }) => proto).concat(requestType.fileDescriptorProtos.map(standardDescriptor));
  const fileDescriptorProtos = protos.map((proto) => Buffer.from(toBinary(FileDescriptorProtoSchema, proto)));
  const open = new Set<Call>();
  const serve = (call: Call, info: (call: Call) => void) => {
    if (open.size >= MAX_STREAMS) {
      call.emit('error', { code: Status.RESOURCE_EXHAUSTED, details: 'too many ask already; try again' });
      return;
    }
    open.add(call);
    const timer = setTimeout(() => servedCallOf(call.metadata).breakOff(), timeout * 1_000).unref();
    call.once('close', () => {
      clearTimeout(timer);
      open.delete(call);
    });
    info(inStep(call));
  };
  // The library uses only the files of a definition.
  new ReflectionService({ definition: { ...requestType, fileDescriptorProtos } }).addToServer({
    addService: (definition, { ServerReflectionInfo: info }) =>
      server.addService(definition, {
        ServerReflectionInfo: (call: Call) => serve(call, info as (call: Call) => void),
      }),
  });
}

function collect(file: DescFile, files: Set<DescFile>): void {
  if (files.has(file)) return;
  files.add(file);
  for (const dependency of file.dependencies) collect(dependency, files);
}

/**
 * Pauses the requests of a call while its client does not read the answers: the library would buffer all of them. Gives
 * at most MAX_QUESTIONS answers.
 */
function inStep(call: Call): Call {
  const write = call.write.bind(call) as (answer: object) => boolean;
  let answers = 0;
  call.on('drain', () => call.resume());
  return Object.assign(call, {
    write: (answer: object) => {
      if (++answers > MAX_QUESTIONS) {
        call.emit('error', { code: Status.RESOURCE_EXHAUSTED, details: 'ask the rest in another call' });
        call.pause();
        return false;
      }
      const taken = write(answer);
      if (!taken) call.pause();
      return taken;
    },
  });
}
