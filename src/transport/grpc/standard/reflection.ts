import { type DescFile, type DescService, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { type ServerDuplexStream, status as Status } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { service as healthService } from 'grpc-health-check';
import { file_google_rpc_error_details } from '../../../../gen/google/rpc/error_details_pb.ts';
import { file_health_v1_health } from '../../../../gen/health/v1/health_pb.ts';
import type { Registry } from '../definition.ts';

type Call = ServerDuplexStream<object, object>;

/** What is read and written here of an answer of the library. */
interface Answer {
  fileDescriptorResponse?: { fileDescriptorProto: readonly Uint8Array[] } | undefined;
  errorResponse?: { readonly errorCode: Status; readonly errorMessage: string };
}

/** Most questions of a stream. A tool that reads everything asks about twenty; an answer has up to 30 KB. */
const MAX_QUESTIONS = 64;

/** Adds grpc.reflection, v1 and v1alpha, for all services. Needs no token. Streams idle for `timeout` seconds end. */
export function addReflection(server: Registry, services: readonly DescService[], timeout: number): void {
  const files = new Set<DescFile>();
  for (const { file } of services) collect(file, files);
  for (const file of [file_google_rpc_error_details, file_health_v1_health]) collect(file, files);
  const whole = new Map(
    [...files].map(({ proto }) => [proto.name, Buffer.from(toBinary(FileDescriptorProtoSchema, proto))] as const),
  );
  const fileDescriptorProtos = [...whole.values()];
  const complete = completing(whole);
  const { requestType } = healthService.Check!;
  const serve = (call: Call, info: (call: Call) => void) => {
    const timer = setTimeout(() => call.end(), timeout * 1_000).unref();
    call.on('data', () => timer.refresh()).once('close', () => clearTimeout(timer));
    info(inStep(call, complete));
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
 * Puts the files themselves into an answer. The library encodes them anew, without the options that it does not know:
 * those of REST (google.api.http), and which fields a caller must set. Under a name that every object has, such as
 * `constructor`, it finds an empty file: there is none.
 */
function completing(files: ReadonlyMap<string, Uint8Array>): (answer: Answer) => void {
  // The library encodes each file once, so its name is read once.
  const known = new WeakMap<Uint8Array, Uint8Array>();
  const completed = (encoded: Uint8Array): Uint8Array => {
    const file = known.get(encoded) ?? files.get(fromBinary(FileDescriptorProtoSchema, encoded).name)!;
    known.set(encoded, file);
    return file;
  };
  return (answer) => {
    const { fileDescriptorResponse: response } = answer;
    if (response?.fileDescriptorProto[0]?.length === 0) {
      answer.fileDescriptorResponse = undefined;
      answer.errorResponse = { errorCode: Status.NOT_FOUND, errorMessage: 'not found' };
    } else if (response !== undefined) response.fileDescriptorProto = response.fileDescriptorProto.map(completed);
  };
}

/** Pauses a call while its client does not read: the library would buffer. MAX_QUESTIONS answers at most. */
function inStep(call: Call, complete: (answer: Answer) => void): Call {
  const write = call.write.bind(call) as (answer: object) => boolean;
  let answers = 0;
  call.on('drain', () => call.resume());
  return Object.assign(call, {
    write: (answer: object) => {
      if (++answers > MAX_QUESTIONS) {
        call.emit('error', {
          code: Status.RESOURCE_EXHAUSTED,
          details: 'this call has made too many requests; use another call',
        });
        call.pause();
        return false;
      }
      complete(answer);
      const taken = write(answer);
      if (!taken) call.pause();
      return taken;
    },
  });
}
