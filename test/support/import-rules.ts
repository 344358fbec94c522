import { dirname, join } from 'node:path';
import { Visitor } from 'oxc-parser';
import type { SourceFile } from './source.ts';

/** What each part may import of the project, beside itself. A part is a folder of src/, a file directly in it, or the console. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  domain: [],
  json: [],
  tlog: [],
  witness: ['tlog'],
  auth: ['domain'],
  observe: ['domain', 'log', 'auth'],
  log: ['domain', 'tlog'],
  plants: ['domain', 'log', 'auth', 'transparency', 'gen'],
  audit: ['domain', 'json', 'tlog', 'log', 'auth', 'plants', 'transparency', 'gen'],
  erasure: ['domain', 'log', 'auth', 'plants', 'gen'],
  publisher: ['domain', 'log', 'gen'],
  transparency: ['domain', 'tlog', 'log', 'auth', 'gen'],
  transport: [
    ...['domain', 'json', 'tlog', 'log', 'auth', 'observe', 'plants', 'audit', 'publisher'],
    ...['transparency', 'gen'],
  ],
  'limit-variables': [],
  'transparency-variables': ['tlog'],
  'config-variables': ['limit-variables', 'transparency-variables'],
  config: ['config-variables'],
  welcome: [],
  main: ['observe', 'config', 'publication', 'start'],
  start: [
    ...['domain', 'log', 'auth', 'observe', 'plants', 'audit', 'erasure', 'publisher', 'transparency', 'transport'],
    ...['gen'],
    ...['config', 'welcome', 'publication'],
  ],
  publication: ['observe', 'publisher', 'publisher-thread', 'config'],
  'publisher-thread': ['log', 'publisher'],
  cli: [
    ...['domain', 'tlog', 'log', 'auth', 'observe', 'plants', 'audit', 'publisher', 'transparency', 'witness'],
    ...['config', 'config-variables', 'main', 'publication'],
  ],
  // What runs in the browser: the API's messages, and nothing of the service.
  console: ['gen'],
};

/** Folders that only the outermost parts know: they connect the log and the publisher to a database or a broker. */
const ADAPTERS = ['src/log/sqlite/', 'src/log/mongo/', 'src/publisher/kafka/'];
const CONSTRUCTS_ADAPTERS = ['start', 'publication', 'publisher-thread', 'cli'];

/** The one file of the log that encodes events as protobuf. */
const CANONICAL_ENCODING = 'src/log/canonical.ts';

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
    ...cycles(files),
  ];
}

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
  if (target === undefined) return part === 'domain' ? [`${from}: the domain imports no library (${specifier})`] : [];
  const to = partOf(target);
  const adapter = ADAPTERS.find((folder) => target.startsWith(folder));
  if (adapter !== undefined && !from.startsWith(adapter) && !CONSTRUCTS_ADAPTERS.includes(part))
    return [`${from}: only start, publication and cli import adapters (${target})`];
  if (to === part || MAY_IMPORT[part]?.includes(to)) return [];
  if (to === 'gen' && from === CANONICAL_ENCODING) return [];
  return [`${from}: ${part} does not import ${to} (${target})`];
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
