import { type DescFile, type DescService, fromBinary, toBinary } from '@bufbuild/protobuf';
import { type DescriptorProto, type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { type Server, type ServerDuplexStream, status as Status } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { service as healthService } from 'grpc-health-check';
import { file_google_rpc_error_details } from '../../../../gen/google/rpc/error_details_pb.ts';
import { servedCallOf } from '../served-call.ts';

type Call = ServerDuplexStream<object, object>;

/** Most questions of a stream. A tool that reads everything asks about twenty; an answer has up to 30 KB. */
const MAX_QUESTIONS = 64;

/**
 * Adds grpc.reflection, v1 and v1alpha, for these services, the error details, and grpc.health.v1. Needs no token. A
 * stream on which nothing is asked for `timeout`, in seconds, ends.
 */
export function addReflection(
  server: Pick<Server, 'addService'>,
  services: readonly DescService[],
  timeout: number,
): void {
  const files = new Set<DescFile>();
  for (const { file } of services) collect(file, files);
  collect(file_google_rpc_error_details, files);
  const { requestType } = healthService.Check!;
  const protos = [...files].map(({ proto }) => proto).concat(requestType.fileDescriptorProtos.map(standardDescriptor));
  const fileDescriptorProtos = protos.map((proto) => Buffer.from(toBinary(FileDescriptorProtoSchema, proto)));
  const serve = (call: Call, info: (call: Call) => void) => {
    const end = () => {
      // The library would send a status only after the answers that the client does not read.
      if (call.writableLength > 0) servedCallOf(call.metadata).reset();
      else call.emit('error', { code: Status.UNAVAILABLE, details: 'the stream was idle for too long' });
    };
    const timer = setTimeout(end, timeout * 1_000).unref();
    call.on('data', () => timer.refresh()).once('close', () => clearTimeout(timer));
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
        call.emit('error', {
          code: Status.RESOURCE_EXHAUSTED,
          details: 'this call has made too many requests; use another call',
        });
        call.pause();
        return false;
      }
      const taken = write(answer);
      if (!taken) call.pause();
      return taken;
    },
  });
}

/**
 * Rewrites a file descriptor of protobufjs to match protoc's. Other implementations refuse its map entries, which lack
 * the names that descriptor.proto requires. Some also refuse its relative type names. The file must not import others.
 */
function standardDescriptor(bytes: Uint8Array): FileDescriptorProto {
  const file = fromBinary(FileDescriptorProtoSchema, bytes);
  const root = `.${file.package}`;
  for (const message of file.messageType) nameEntries(message);
  const types = new Set(file.enumType.map(({ name }) => `${root}.${name}`));
  for (const message of file.messageType) collectTypes(message, root, types);
  for (const message of file.messageType) qualify(message, root, types);
  return file;
}

function nameEntries({ field, nestedType }: DescriptorProto): void {
  for (const entry of nestedType.filter(({ options }) => options?.mapEntry)) {
    const map = field.find(({ typeName }) => typeName === entry.name)!;
    entry.name += 'Entry';
    map.typeName = entry.name;
  }
}

function collectTypes({ name, nestedType, enumType }: DescriptorProto, scope: string, types: Set<string>): void {
  types.add(`${scope}.${name}`);
  for (const nested of enumType) types.add(`${scope}.${name}.${nested.name}`);
  for (const nested of nestedType) collectTypes(nested, `${scope}.${name}`, types);
}

function qualify({ name, field, nestedType }: DescriptorProto, scope: string, types: ReadonlySet<string>): void {
  const inner = `${scope}.${name}`;
  for (const one of field) if (one.typeName !== '') one.typeName = resolve(one.typeName, inner, types);
  for (const nested of nestedType) qualify(nested, inner, types);
}

/** Looks in the innermost scope first. */
function resolve(typeName: string, scope: string, types: ReadonlySet<string>): string {
  for (let at = scope; at !== ''; at = at.slice(0, at.lastIndexOf('.')))
    if (types.has(`${at}.${typeName}`)) return `${at}.${typeName}`;
  return typeName;
}
