import { expect, test } from 'vitest';
import { leadingNowhere, violations } from '../support/import-rules.ts';
import { ALL_FOLDERS, parseSource, readSources } from '../support/source.ts';

const violationsOf = (files: Record<string, string>) =>
  violations(Object.entries(files).map(([path, text]) => parseSource(path, text)));

test('imports point inward, and only the outermost parts know databases and the environment', () => {
  const files = readSources(ALL_FOLDERS);
  expect(files.length).toBeGreaterThan(20);
  expect(violations(files)).toEqual([]);
});

test.each([
  ['src/domain/plant.ts', "import { z } from 'zod';"],
  ['src/domain/plant.ts', "import { randomUUID } from 'node:crypto';"],
  ['src/domain/plant.ts', "import type { Store } from '../log/store.ts';"],
  ['src/domain/plant.ts', "export * from '../../gen/plantstore/v1/plant_pb.ts';"],
  ['src/auth/verifier.ts', "import '../log/store.ts';"],
  ['src/observe/health.ts', "import '../plants/service.ts';"],
  ['src/log/tail/tail.ts', "import '../../plants/service.ts';"],
  ['src/log/tail/tail.ts', "import '../../../gen/plantstore/v1/event_pb.ts';"],
  ['src/log/tail/tail.ts', "import '../sqlite/store.ts';"],
  ['src/log/mongo/store.ts', "import '../sqlite/store.ts';"],
  ['src/log/sqlite/store.ts', "import '../tail/tail.ts';"],
  ['src/log/mongo/read-model/rows.ts', "import '../../view/listing.ts';"],
  ['src/plants/service.ts', "import '../transport/rest/server.ts';"],
  ['src/plants/service.ts', "const { loadConfig } = await import('../config.ts');"],
  ['src/transport/http/server.ts', "import '../../log/sqlite/store.ts';"],
  ['src/transport/http/server.ts', "import '../../main.ts';"],
  ['src/transport/http/server.ts', "import '../rest/rest.ts';"],
  ['src/transport/rest/rest.ts', "import '../grpc/server.ts';"],
  ['src/transport/grpc/server.ts', "import '../rest/rest.ts';"],
  ['src/transport/rest/rest.ts', "import '../../audit/service.ts';"],
  ['src/plants/service.ts', "import { ConnectError } from '@connectrpc/connect';"],
  ['src/audit/service.ts', "import { status } from '@grpc/grpc-js';"],
  ['src/publisher/publisher.ts', "import './kafka/producer.ts';"],
  ['src/log/tail/tail.ts', 'const debug = process.env.DEBUG;'],
  ['src/log/tail/tail.ts', "const debug = process['env'];"],
  ['src/log/tail/tail.ts', "import { env } from 'node:process';"],
  ['src/log/tail/tail.ts', 'const now = Date.now();'],
  ['src/log/tail/tail.ts', 'const now = new Date();'],
  ['src/plants/watch/watches.ts', 'const now = performance.now();'],
  ['src/erasure/service.ts', 'setTimeout(() => {}, 1);'],
  ['src/time/pause.ts', "import { setTimeout as sleep } from 'node:timers/promises';"],
  ['src/publisher/publisher.ts', "import { randomUUID } from 'node:crypto';"],
  ['src/transparency/checkpoints.ts', 'const part = Math.random();'],
  ['src/audit/verify.ts', 'const signal = AbortSignal.timeout(1);'],
  ['src/novelty/thing.ts', "import '../domain/plant.ts';"],
])('a breach is found: %s with %s', (path, text) => {
  expect(violationsOf({ [path]: text })).toEqual([expect.stringContaining(path)]);
});

test('a cycle is found, whatever starts it', () => {
  const files = {
    'src/log/a.ts': "import './b.ts';",
    'src/log/b.ts': "import type { C } from './c.ts';",
    'src/log/c.ts': "export { B } from './b.ts';",
  };
  expect(violationsOf(files)).toEqual(['cycle: src/log/b.ts -> src/log/c.ts -> src/log/b.ts']);
});

test.each([
  ['src/start.ts', "import './log/sqlite/store.ts'; import './transport/rest/server.ts';"],
  ['src/cli/audit/verify.ts', "import '../../log/sqlite/store.ts'; import '../../main.ts';"],
  ['src/log/sqlite/store.ts', "import '../store.ts'; import { DatabaseSync } from 'node:sqlite';"],
  ['src/time/host.ts', 'const now = Date.now();'],
  ['src/log/sqlite/store.ts', 'const now = Date.now();'],
  ['src/log/tail/tail.ts', 'const date = new Date(0);'],
  ['src/config.ts', 'const environment = process.env;'],
])('what is allowed is not reported: %s with %s', (path, text) => {
  expect(violationsOf({ [path]: text })).toEqual([]);
});

test('every relative import of the benchmarks leads to a file', () => {
  const files = readSources(['bench/src']);
  expect(files.length).toBeGreaterThan(20);
  expect(leadingNowhere(files)).toEqual([]);
});

test.each([
  ["import { a } from './nowhere.ts';", 1],
  ["export type { A } from '../nowhere.ts';", 1],
  ["await import('../../src/nowhere.ts');", 1],
  ["import './main.ts'; import 'fastify'; import type { Store } from '../../src/log/store.ts';", 0],
])('an import that leads nowhere is found: %s', (text, found) => {
  expect(leadingNowhere([parseSource('bench/src/a.ts', text)])).toHaveLength(found);
});
