import { type ChildProcess, execFileSync } from 'node:child_process';
import { basename, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/support/free-port.ts';
import type { Effort } from './compare.ts';
import { type Server, startServer } from './server.ts';
import { OURS } from './works.ts';

/** The checkout that this bench stands in. */
const HERE = join(import.meta.dirname, '../..');

/** The program of a checkout. */
const binOf = (checkout: string): string => join(checkout, 'bin/plantstore.js');

/** A version of the service: what the reports call it, and its folder, whose packages are installed. */
export interface Checkout {
  readonly name?: string;
  readonly checkout?: string;
}

/** This checkout, and those beside which it is to be measured. */
export const checkoutsOf = ({ beside }: Effort): Checkout[] => [
  { name: OURS },
  ...beside.map((directory) => {
    // npm runs the bench in its own folder.
    const checkout = resolve(process.env.INIT_CWD ?? '.', directory);
    return { name: basename(checkout), checkout };
  }),
];

/** Our service, on free ports. */
export interface PlantStore extends Server {
  /** Host and port of its gRPC. */
  readonly grpcAddress: string;
  /** Address of its probes and metrics. */
  readonly adminUrl: string;
}

/**
 * Starts our service and waits until it is ready. It logs no line for each request unless told, as the peers do not.
 */
export async function plantstore(
  directory: string,
  env: Record<string, string>,
  { name = OURS, checkout = HERE }: Checkout = {},
): Promise<PlantStore> {
  const [rest, grpc, admin] = [await freePort(), await freePort(), await freePort()];
  const ports = { PORT: String(rest), GRPC_PORT: String(grpc), ADMIN_PORT: String(admin) };
  const adminUrl = `http://127.0.0.1:${admin}`;
  const server = await startServer(
    name,
    process.execPath,
    [binOf(checkout), 'serve'],
    { DATA_DIR: directory, DRAIN_GRACE: '0', LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn', ...ports, ...env },
    async (child) => {
      await ready(adminUrl, child);
      return `http://127.0.0.1:${rest}`;
    },
  );
  return { ...server, grpcAddress: `127.0.0.1:${grpc}`, adminUrl };
}

async function ready(adminUrl: string, child: ChildProcess): Promise<void> {
  const isReady = () =>
    fetch(`${adminUrl}/readyz`)
      .then(({ ok }) => ok)
      .catch(() => false);
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error('the service ended before it was ready');
    await sleep(5);
  }
}

/** A token of development mode for the service that has its data in a directory. */
export const developmentToken = (directory: string, owner: string, scope = 'plants:read plants:write'): string =>
  execFileSync(process.execPath, [binOf(HERE), 'token', '--owner', owner, '--scope', scope, '--ttl', '36000'], {
    env: { DATA_DIR: directory, PATH: process.env.PATH ?? '' },
    encoding: 'utf8',
  }).trim();
