import { fromBinary } from '@bufbuild/protobuf';
import { type DescriptorProto, type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';

/**
 * Rewrites a file descriptor of protobufjs to match protoc's. Other implementations refuse its map entries, which lack
 * the names that descriptor.proto requires. Some also refuse its relative type names. The file must not import others.
 */
export function standardDescriptor(bytes: Uint8Array): FileDescriptorProto {
  const file = fromBinary(FileDescriptorProtoSchema, bytes);
  const root = `.${file.package}`;
  for (const message of file.messageType) nameEntries(message);
  const types = new Set(file.enumType.map(({ name }) => `${root}.${name}`));
  for (const message of file.messageType) collect(message, root, types);
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

function collect({ name, nestedType, enumType }: DescriptorProto, scope: string, types: Set<string>): void {
  types.add(`${scope}.${name}`);
  for (const nested of enumType) types.add(`${scope}.${name}.${nested.name}`);
  for (const nested of nestedType) collect(nested, `${scope}.${name}`, types);
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
