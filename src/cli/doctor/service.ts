import { connect } from 'node:net';
import { boundedFetch } from '../../auth/keys/jwks.ts';
import type { Config } from '../../config.ts';
import { BROKEN_LOG, type Finding, fail, ok, reasonOf, warn } from './finding.ts';

/** Most milliseconds for an answer of a port or of the issuer. */
const LIMIT = 3_000;

/** How the message of a BrokenChainError begins, and with it the detail of a store with a broken log. */
const LOG_IS_BROKEN = 'the log is broken';

/** Examines the service on this host: if it runs, whether it is ready; otherwise, whether its ports are free. */
export async function examineService({ host, port, grpcPort, adminPort }: Config): Promise<Finding[]> {
  const address = reachable(host);
  const probe = await readiness(address, adminPort);
  if (probe !== undefined) return [probe];
  const ports = { PORT: port, GRPC_PORT: grpcPort, ADMIN_PORT: adminPort };
  const findings: Finding[] = [];
  for (const [name, number] of Object.entries(ports))
    if (await isListening(address, number))
      findings.push(
        fail(
          'service',
          `port ${number} is taken by another program: stop that program, or set ${name} to another port`,
        ),
      );
  return findings.length > 0 ? findings : [ok('service', `not running on ${host}; its ports are free`)];
}

/** What /readyz reports. Undefined if nothing answers, or something other than the service. */
async function readiness(host: string, port: number): Promise<Finding | undefined> {
  try {
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/readyz`;
    const response = await fetch(url, { signal: AbortSignal.timeout(LIMIT), redirect: 'error' });
    const { status, dependencies } = (await response.json()) as {
      status: string;
      dependencies: { name: string; ready: boolean; degraded?: boolean; detail?: string }[];
    };
    const troubled = dependencies.filter(({ ready, degraded }) => !ready || degraded === true);
    const why = troubled.map(({ name, detail }) => `${name}: ${detail ?? 'not ready'}`).join('; ');
    if (response.status !== 200) return fail('service', `it runs, but is ${status}: ${why || 'see its log'}`);
    // A store that is ready is degraded by what is broken: the log, or the read model, whose detail has the remedy.
    const { detail } = troubled.find(({ name }) => name === 'store') ?? {};
    if (detail !== undefined)
      return fail('service', `it runs, but ${detail}${detail.startsWith(LOG_IS_BROKEN) ? `: ${BROKEN_LOG}` : ''}`);
    return why === '' ? ok('service', `ready, according to ${url}`) : warn('service', `ready, but ${why}`);
  } catch {
    return undefined;
  }
}

/** Whether a program takes a connection there. */
export const isListening = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, timeout: LIMIT });
    const answer = (listens: boolean) => {
      socket.destroy();
      resolve(listens);
    };
    socket.once('connect', () => answer(true));
    for (const event of ['error', 'timeout']) socket.once(event, () => answer(false));
  });

/** The address to connect to: loopback if the service listens on every address. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** Examines the issuer of tokens. */
export async function examineIssuer(issuer: Config['issuer']): Promise<Finding> {
  if (issuer === undefined) return ok('issuer', 'development mode: plantstore token makes tokens');
  const url = issuer.jwksUrl.href;
  try {
    const fetchKeys = boundedFetch(new AbortController().signal);
    const response = await fetchKeys(url, {
      headers: new Headers(),
      method: 'GET',
      redirect: 'manual',
      signal: AbortSignal.timeout(LIMIT),
    });
    const { keys } = (await response.json()) as { keys: readonly unknown[] };
    return ok('issuer', `${url} has ${keys.length} keys`);
  } catch (error) {
    return fail('issuer', `${url}: ${reasonOf(error)}; the service cannot verify new tokens`);
  }
}
