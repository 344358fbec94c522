import { Visitor } from 'oxc-parser';
import type { SourceFile } from './source.ts';

/** The one module of these rooms that looks at clocks, sets timers and draws random bytes: a simulation replaces it. */
const HOST = 'src/time/host.ts';
const ROOMS = /^src\/((log|time|plants|erasure|audit|publisher|transparency)\/|semaphore\.ts$)/;

/** What talks to a database, a broker or another thread. A simulation has its own in their place. */
const ADAPTERS = /^src\/(log\/(sqlite|mongo)|publisher\/kafka|audit\/fold)\/|^src\/publisher\/thread\.ts$/;

const MODULES = /^(node:)?(timers|timers\/promises|perf_hooks)$/;
const RANDOM = /^(random|getRandom|webcrypto)/;

const GLOBALS = new Set([
  ...['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate'],
  ...['performance', 'crypto'],
]);
/** Members of globals that are fine otherwise. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  Date: ['now'],
  Math: ['random'],
  AbortSignal: ['timeout'],
  process: ['hrtime', 'uptime', 'cpuUsage', 'threadCpuUsage', 'nextTick'],
};

/** Every use of the machine beside that module, one line each. */
export function machineUses({ path, parsed }: SourceFile): string[] {
  if (path === HOST || !ROOMS.test(path) || ADAPTERS.test(path)) return [];
  const found = new Set<string>();
  const report = (what: string) => found.add(`${path}: only ${HOST} uses ${what}`);
  new Visitor({
    ImportDeclaration({ source, specifiers }) {
      if (MODULES.test(source.value)) report(source.value);
      if (!/^(node:)?crypto$/.test(source.value)) return;
      for (const specifier of specifiers) {
        const named = specifier.type === 'ImportSpecifier' && specifier.imported.type === 'Identifier';
        const name = named ? (specifier.imported as { name: string }).name : '*';
        if (name === '*' || RANDOM.test(name)) report(`${name} of ${source.value}`);
      }
    },
    CallExpression({ callee }) {
      if (callee.type === 'Identifier' && GLOBALS.has(callee.name)) report(callee.name);
    },
    MemberExpression({ object, property }) {
      if (object.type !== 'Identifier') return;
      const name = property.type === 'Identifier' ? property.name : property.type === 'Literal' && property.value;
      if (GLOBALS.has(object.name)) report(object.name);
      else if (MEMBERS[object.name]?.includes(String(name)) === true) report(`${object.name}.${name}`);
    },
    NewExpression({ callee, arguments: given }) {
      if (callee.type === 'Identifier' && callee.name === 'Date' && given.length === 0) report('new Date()');
    },
  }).visit(parsed.program);
  return [...found];
}
