import { parseArgs } from 'node:util';
import type { Effort } from './compare.ts';
import { type Results, report } from './report/report.ts';
import { tables } from './report/text.ts';
import { Bench } from './resources.ts';
import { attacks } from './suites/attacks.ts';
import { audit } from './suites/audit.ts';
import { commits } from './suites/commits.ts';
import { embedded } from './suites/embedded.ts';
import { flood } from './suites/flood.ts';
import { follow } from './suites/follow.ts';
import { growth } from './suites/growth.ts';
import { grpc } from './suites/grpc.ts';
import { instances } from './suites/instances.ts';
import { kafka } from './suites/kafka.ts';
import { longLists } from './suites/long-lists.ts';
import { overload } from './suites/overload.ts';
import { refusals } from './suites/refusals.ts';
import { rest } from './suites/rest.ts';
import { start } from './suites/start.ts';
import { tokens } from './suites/tokens.ts';
import { versions } from './suites/versions.ts';
import { watch } from './suites/watch.ts';

/** Beside what a user would pick instead: run unless others are named. */
const COMPARISONS = { rest, grpc, commits };
/** Run when named, in many short turns as well. */
const BRIEF = { refusals, start };
/** Run when named, and all of them with --soak. */
const OTHERS = {
  attacks,
  audit,
  embedded,
  flood,
  follow,
  growth,
  instances,
  kafka,
  'long-lists': longLists,
  overload,
  tokens,
  watch,
};
/** Run when named only: it wants --beside. */
const NAMED = { versions };
const SUITES: Readonly<Record<string, (bench: Bench, effort: Effort) => Promise<Results>>> = {
  ...COMPARISONS,
  ...BRIEF,
  ...OTHERS,
  ...NAMED,
};

const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    soak: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    beside: { type: 'string', multiple: true, default: [] },
  },
  allowPositionals: true,
});
const names =
  positionals.length > 0
    ? positionals
    : Object.keys(values.soak ? { ...COMPARISONS, ...BRIEF, ...OTHERS } : COMPARISONS);
const unknown = names.find((name) => !(name in SUITES));
if (unknown !== undefined) throw new Error(`there is no suite ${unknown}; there are ${Object.keys(SUITES).join(', ')}`);
// Machines change their speed within seconds: what is compared with others takes many short turns.
const turns = names.every((name) => name in { ...COMPARISONS, ...BRIEF, ...NAMED })
  ? { rounds: 7, seconds: 1, warmUp: 0.5 }
  : { rounds: 3, seconds: 2, warmUp: 1 };
const size = values.quick
  ? { rounds: 1, seconds: 0.25, warmUp: 0, events: 100_000 }
  : { ...turns, events: values.soak ? 10_000_000 : 1_000_000 };
const effort: Effort = { ...size, beside: values.beside, only: values.only };

let results: Required<Results> = { comparison: {}, charts: [] };
for (const name of names) {
  await using bench = new Bench();
  console.log(`\n== ${name}: ${effort.rounds} rounds of ${effort.seconds} s in turns`);
  const { comparison = {}, charts = [] } = await SUITES[name]!(bench, effort);
  console.log(tables(comparison));
  results = { comparison: { ...results.comparison, ...comparison }, charts: [...results.charts, ...charts] };
}
report(names, effort, results);
