import { canVerify, fetchFailure, fetchKeys } from '../../auth/keys/jwks.ts';
import type { Config } from '../../config.ts';
import { counted } from '../../domain/counted.ts';
import type { Dependency } from '../../observe/health.ts';
import { closedPorts } from '../../start/start-error.ts';
import { statusOfUnsigned } from '../../transparency/witness-client.ts';
import { type Finding, fail, ok, reasonOf, warn } from './finding.ts';

/** Most milliseconds for an answer of the service, of a witness or of the issuer. */
const ANSWER_LIMIT = 3_000;
/** Most milliseconds for all answers of Kafka. */
const KAFKA_LIMIT = 30_000;

interface Readyz {
  readonly status: string;
  readonly dependencies: readonly Omit<Dependency, 'since'>[];
}

/** Examines the service on this host: /readyz, or whether the ports are free. `log`: the id of the store's log. */
export async function examineService(config: Config, log: string | undefined): Promise<Finding[]> {
  if (config.adminPort === 0)
    return [warn('service', 'with ADMIN_PORT=0 nobody knows its port: ask /readyz at the port that its log names')];
  const probe = await readiness(reachable(config.adminHost), config.adminPort, log);
  if (probe !== undefined) return [probe];
  const closed = await closedPorts(config);
  if (closed.length === 0) return [ok('service', `not running on ${config.host}; its ports are free`)];
  return closed.map(({ name, port, isTaken, message }) =>
    isTaken
      ? fail('service', `port ${port} is taken by another program: stop that program, or set ${name} to another port`)
      : fail('service', message),
  );
}

/** What /readyz reports. Undefined if nothing listens there, or something other than the service answers. */
async function readiness(host: string, port: number, log: string | undefined): Promise<Finding | undefined> {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/readyz`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_LIMIT), redirect: 'error' });
    return reported(url, (await response.json()) as Readyz, log);
  } catch (error) {
    if ((error as Error).name !== 'TimeoutError') return undefined;
    return fail(
      'service',
      `${url} does not answer within ${ANSWER_LIMIT / 1_000} s: if that lasts, restart the service`,
    );
  }
}

/** What an answer of /readyz says of the service with this log. Undefined, or an error: another program gave it. */
function reported(url: string, { status, dependencies }: Readyz, log: string | undefined): Finding | undefined {
  const store = dependencies.find(({ name }) => name === 'store');
  if (store === undefined) return undefined;
  if (log !== undefined && store.log !== undefined && store.log !== log)
    return fail('service', `${url} is of a service with another log, ${store.log}: set ADMIN_PORT to another port`);
  const troubled = dependencies.filter(({ ready, degraded }) => !ready || degraded === true);
  const why = troubled.map(({ name, detail }) => `${name}: ${detail ?? 'not ready'}`).join('; ');
  if (status !== 'ready') return fail('service', `it runs, but is ${status}: ${why || 'see its log'}`);
  // A store that is ready is degraded by what is broken: the log, the read model, or what was signed.
  if (troubled.includes(store)) return fail('service', `it runs, but ${why} ("What to do when" in docs/operations.md)`);
  if (store.log === undefined || log === undefined)
    return warn('service', `ready, according to ${url}, which may be of another log: the id of one is not known`);
  return why === '' ? ok('service', `ready with this log, according to ${url}`) : warn('service', `ready, but ${why}`);
}

/** The address to connect to: loopback if the service listens on every address. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** Examines whether the issuer of tokens gives its keys. */
export async function examineIssuer(issuer: Config['issuer']): Promise<Finding> {
  if (issuer === undefined) return ok('issuer', 'development mode: plantstore token makes tokens');
  // Without its query, which may have a secret.
  const href = issuer.jwksUrl.origin + issuer.jwksUrl.pathname;
  try {
    const { keys } = await fetchKeys(issuer.jwksUrl, ANSWER_LIMIT);
    return ok('issuer', `${href} has ${counted(keys.filter(canVerify).length, 'key')} for tokens`);
  } catch (error) {
    const fault = `${href}: ${fetchFailure(error as Error)}; the service cannot verify new tokens`;
    return fail('issuer', `${fault}: correct JWKS_URL, or let this machine reach the issuer`);
  }
}

/** Examines whether enough witnesses know the log with this origin. */
export async function examineWitnesses(
  { witnesses, quorum }: NonNullable<Config['witnesses']>,
  origin: string | undefined,
): Promise<Finding[]> {
  if (origin === undefined) return [warn('witness', 'none was asked, because the id of the log cannot be read')];
  const faults = await Promise.all(witnesses.map(({ url }) => faultOf(url, origin)));
  const knowing = faults.filter((fault) => fault === undefined).length;
  const counts = `needed: ${quorum}, there: ${knowing}`;
  return witnesses.map(({ url, key: { name } }, index) => {
    const fault = faults[index];
    if (fault === undefined)
      return ok('witness', `${name} at ${url} knows the log ${origin}; not asked: with which key`);
    const message = `${name} at ${url} ${fault}`;
    return knowing >= quorum
      ? warn('witness', `${message}; ${counts}`)
      : fail('witness', `${message}; no checkpoint is newer, and receipts of new events get 503; ${counts}`);
  });
}

/** Why there is no witness of the log at a URL. Undefined if there is one. */
async function faultOf(url: URL, origin: string): Promise<string | undefined> {
  try {
    const status = await statusOfUnsigned(url, origin, AbortSignal.timeout(ANSWER_LIMIT));
    if (status === 403) return undefined;
    return status === 404
      ? `does not know the log ${origin}, or is no witness: give its operator the vkey (plantstore audit key), or correct WITNESSES`
      : `answers ${status}, as no witness does: correct WITNESSES`;
  } catch (error) {
    return `does not answer (${reasonOf((error as Error).cause ?? error)})`;
  }
}

/** Examines whether Kafka answers and, if it has the topic, allows to read about it. */
export async function examineKafka(settings: NonNullable<Config['kafka']>): Promise<Finding> {
  // Loads Kafka's client only if the settings name Kafka.
  const { KafkaClient, within } = await import('../../publisher/kafka/client.ts');
  const client = new KafkaClient(settings);
  const { topic } = settings;
  const examined = async () => {
    await client.connect();
    if (!(await client.hasTopic(topic)))
      return warn('kafka', `the topic ${topic} does not exist: the service creates it when it publishes, if it may`);
    return ok('kafka', `the topic ${topic} has ${counted((await client.ranges(topic)).length, 'partition')}`);
  };
  try {
    return await within(KAFKA_LIMIT, examined());
  } catch (error) {
    const fault = `${settings.brokers.join()}: ${reasonOf(error)}; nothing can be published`;
    return fail('kafka', `${fault}: correct the settings KAFKA_*, or let this machine reach the brokers`);
  } finally {
    client.close();
  }
}
