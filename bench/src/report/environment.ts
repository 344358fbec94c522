import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');
const PEERS = [
  'fastify',
  'mongodb',
  'express',
  'mongoose',
  '@event-driven-io/emmett-mongodb',
  '@grpc/grpc-js',
  '@connectrpc/connect-node',
];

/** On what and of what a run was. Names no host and no path. */
export const environment = () => ({
  date: new Date().toISOString(),
  commit: output('git', ['-C', ROOT, 'describe', '--always', '--dirty']),
  machine: { cores: cpus().length, model: cpus()[0]?.model, memoryGiB: Math.round(totalmem() / 2 ** 30) },
  versions: {
    node: process.version,
    go: output('go', ['env', 'GOVERSION']),
    ...Object.fromEntries(PEERS.map((name) => [name, versionOf(name)])),
  },
});

const versionOf = (name: string): string =>
  JSON.parse(readFileSync(join(ROOT, 'bench/node_modules', name, 'package.json'), 'utf8')).version;

function output(command: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}
