import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Visitor } from 'oxc-parser';
import { machineUses } from './machine-rules.ts';
import type { SourceFile } from './source.ts';

/**
 * What each part may import of the project, beside itself. A part is a folder of src/, a file directly in it, or the
 * console.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  domain: [],
  json: [],
  files: [],
  'bounded-text': [],
  time: [],
  tlog: [],
  witness: ['domain', 'tlog', 'files'],
  auth: ['domain', 'time', 'files', 'bounded-text', 'semaphore'],
  observe: ['domain', 'time', 'log', 'auth'],
  log: ['domain', 'tlog', 'time', 'files', 'semaphore'],
  semaphore: ['domain', 'time'],
  call: ['log', 'auth'],
  plants: ['domain', 'log', 'auth', 'time', 'transparency', 'call', 'semaphore', 'gen'],
  audit: ['domain', 'json', 'tlog', 'log', 'auth', 'time', 'files', 'transparency', 'call', 'semaphore', 'gen'],
  erasure: ['domain', 'log', 'auth', 'time', 'call', 'gen'],
  publisher: ['domain', 'log', 'time', 'gen'],
  transparency: ['domain', 'tlog', 'log', 'auth', 'time', 'files', 'bounded-text', 'gen'],
  transport: [
    ...['domain', 'json', 'tlog', 'log', 'auth', 'observe', 'plants', 'transparency'],
    ...['call', 'semaphore', 'gen'],
  ],
  settings: ['tlog'],
  config: ['settings'],
  main: ['log', 'observe', 'config', 'start'],
  start: [
    ...['domain', 'log', 'auth', 'observe', 'plants', 'audit', 'erasure', 'publisher', 'transparency', 'transport'],
    ...['call', 'semaphore', 'gen', 'config', 'files'],
  ],
  cli: [
    ...['domain', 'tlog', 'log', 'auth', 'observe', 'plants', 'audit', 'publisher', 'transparency', 'transport'],
    ...['witness', 'config', 'settings', 'main', 'files', 'start'],
  ],
  // What runs in the browser: the API's messages, its client, and of the service what verifies proofs.
  console: ['gen', 'client', 'tlog'],
};

/** What each room of src/transport/ may import of the other rooms. All may import the files beside the rooms. */
const ROOMS_OF_TRANSPORT: Record<string, readonly string[]> = {
  admission: [],
  http: ['admission'],
  rest: ['admission', 'http'],
  console: ['admission', 'http'],
  connect: ['admission', 'http'],
  grpc: ['admission'],
  forward: ['grpc'],
};

/** Libraries of transports: what the application does is the same whichever a call came over. */
const TRANSPORT_LIBRARIES = /^(@connectrpc\/|@grpc\/|fastify|@fastify\/)/;
const KNOW_NO_TRANSPORT = ['domain', 'log', 'auth', 'call', 'plants', 'audit', 'erasure', 'publisher', 'transparency'];

/** Folders that only the outermost parts know: they connect the log and the publisher to a database or a broker. */
const ADAPTERS = ['src/log/sqlite/', 'src/log/mongo/', 'src/publisher/kafka/'];
const CONSTRUCTS_ADAPTERS = ['start', 'cli'];

/** What an adapter of the log may import of it, beside its own folder: the port, and events as bytes. */
const DATABASES = /^src\/log\/(sqlite|mongo)\//;
const PORT_OF_LOG = /^src\/log\/(store|batches|row-size|upgrade|event\/[\w-]+|tree\/nodes)\.ts$/;

/** The messages between instances, which no other room of the log knows. */
const FORWARDING = { room: 'src/log/forward/', messages: 'gen/plantstore/internal/' };

/** The one reader of the environment. */
const READS_ENVIRONMENT = 'src/config.ts';

interface Import {
  readonly specifier: string;
  /** From the project's root; undefined for a library or a built-in module. */
  readonly target: string | undefined;
}

/** Every breach of the rules, one line each. Types count as much as values: they tell who knows of whom. */
export function violations(files: readonly SourceFile[]): string[] {
  return [
    ...files.flatMap((file) => importsOf(file).flatMap((found) => breach(file.path, found))),
    ...files.filter((file) => file.path !== READS_ENVIRONMENT).flatMap(environmentReads),
    ...files.flatMap(machineUses),
    ...cycles(files),
  ];
}

/** Every relative import that leads to no file, one line each: for programs that nothing else compiles. */
export const leadingNowhere = (files: readonly SourceFile[]): string[] =>
  files.flatMap((file) =>
    importsOf(file)
      .filter(({ target }) => target !== undefined && !existsSync(target))
      .map(({ specifier }) => `${file.path}: there is no ${specifier}`),
  );

function importsOf({ path, text, parsed: { module } }: SourceFile): Import[] {
  const specifiers = [
    ...module.staticImports.map((found) => found.moduleRequest.value),
    ...module.staticExports.flatMap((found) => found.entries.flatMap((entry) => entry.moduleRequest?.value ?? [])),
    ...module.dynamicImports.map(({ moduleRequest: { start, end } }) => text.slice(start + 1, end - 1)),
  ];
  return specifiers.map((specifier) => ({
    specifier,
    target: specifier.startsWith('.') ? join(dirname(path), specifier) : undefined,
  }));
}

const partOf = (path: string): string => {
  const [top, second] = path.split('/');
  return top === 'src' ? second!.replace(/\.ts$/, '') : top!;
};

function breach(from: string, { specifier, target }: Import): string[] {
  const part = partOf(from);
  if (target === undefined) return libraryBreach(from, part, specifier);
  const to = partOf(target);
  const adapter = ADAPTERS.find((folder) => target.startsWith(folder));
  if (adapter !== undefined && !from.startsWith(adapter) && !CONSTRUCTS_ADAPTERS.includes(part))
    return [`${from}: only start and cli import adapters (${target})`];
  const database = DATABASES.exec(from)?.[0];
  if (database !== undefined && part === to && !target.startsWith(database) && !PORT_OF_LOG.test(target))
    return [`${from}: an adapter of the log imports its port alone (${target})`];
  if (to === 'transport' && part === 'transport' && !roomsAllow(from, target))
    return [`${from}: this room does not import that of ${target}`];
  if (from.startsWith(FORWARDING.room) && target.startsWith(FORWARDING.messages)) return [];
  if (to === part || MAY_IMPORT[part]?.includes(to)) return [];
  return [`${from}: ${part} does not import ${to} (${target})`];
}

function libraryBreach(from: string, part: string, specifier: string): string[] {
  if (part === 'domain') return [`${from}: the domain imports no library (${specifier})`];
  if (KNOW_NO_TRANSPORT.includes(part) && TRANSPORT_LIBRARIES.test(specifier))
    return [`${from}: ${part} imports no library of a transport (${specifier})`];
  return [];
}

const roomOf = (path: string): string | undefined => /^src\/transport\/(\w+)\//.exec(path)?.[1];

function roomsAllow(from: string, target: string): boolean {
  const [room, other] = [roomOf(from), roomOf(target)];
  if (room === other || other === undefined) return true;
  return room !== undefined && ROOMS_OF_TRANSPORT[room]?.includes(other) === true;
}

function environmentReads({ path, parsed }: SourceFile): string[] {
  const found: string[] = [];
  const report = () => found.push(`${path}: only ${READS_ENVIRONMENT} reads the environment`);
  new Visitor({
    MemberExpression({ object, property }) {
      const name = property.type === 'Identifier' ? property.name : property.type === 'Literal' && property.value;
      if (object.type === 'Identifier' && object.name === 'process' && name === 'env') report();
    },
    ImportDeclaration({ source }) {
      if (/^(node:)?process$/.test(source.value)) report();
    },
  }).visit(parsed.program);
  return found;
}

function cycles(files: readonly SourceFile[]): string[] {
  const targets = new Map(files.map((file) => [file.path, importsOf(file).flatMap(({ target }) => target ?? [])]));
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) found.push(`cycle: ${[...trail.slice(start), path].join(' -> ')}`);
    if (start >= 0 || done.has(path)) return;
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of targets.keys()) visit(path, []);
  return found;
}
