import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { Bench } from './resources.ts';
import { audit } from './suites/audit.ts';
import { embedded } from './suites/embedded.ts';
import { grpc } from './suites/grpc.ts';
import { kafka } from './suites/kafka.ts';
import { mongodb } from './suites/mongodb.ts';
import { overload } from './suites/overload.ts';
import { tokens } from './suites/tokens.ts';

const SUITES = { audit, embedded, grpc, kafka, mongodb, overload, tokens };

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const effort = values.quick ? { rounds: 1, seconds: 3 } : { rounds: 5, seconds: 6 };

console.log(
  `Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model}); medians of ${effort.rounds} rounds of ${effort.seconds} s in turns`,
);
for (const [name, suite] of Object.entries(SUITES)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  await using bench = new Bench();
  await suite(bench, effort);
}
