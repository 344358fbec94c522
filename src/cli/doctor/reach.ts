import { fetchFailure, fetchKeys } from '../../auth/keys/jwks.ts';
import type { Config } from '../../config.ts';
import { counted } from '../../counted.ts';
import { takenPorts } from '../../start/start-error.ts';
import { type Finding, fail, ok, reasonOf, warn } from './finding.ts';

/** Most milliseconds for an answer of the service, of a witness or of the issuer. */
const LIMIT = 3_000;
/** Most milliseconds for all answers of Kafka. */
const KAFKA_LIMIT = 30_000;

/** What /readyz answers. */
interface Readyz {
  readonly status: string;
  readonly dependencies: readonly { name: string; ready: boolean; degraded?: boolean; detail?: string }[];
}

/** Examines the service on this host: if it runs, what /readyz says; otherwise, whether its ports are free. */
export async function examineService(config: Config): Promise<Finding[]> {
  const probe = await readiness(reachable(config.adminHost), config.adminPort);
  if (probe !== undefined) return [probe];
  const taken = await takenPorts(config);
  if (taken.length === 0) return [ok('service', `not running on ${config.host}; its ports are free`)];
  return taken.map(([name, port]) =>
    fail('service', `port ${port} is taken by another program: stop that program, or set ${name} to another port`),
  );
}

/** What /readyz reports. Undefined if nothing listens there, or something other than the service answers. */
async function readiness(host: string, port: number): Promise<Finding | undefined> {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/readyz`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(LIMIT), redirect: 'error' });
    const { status, dependencies } = (await response.json()) as Readyz;
    const troubled = dependencies.filter(({ ready, degraded }) => !ready || degraded === true);
    const why = troubled.map(({ name, detail }) => `${name}: ${detail ?? 'not ready'}`).join('; ');
    if (response.status !== 200) return fail('service', `it runs, but is ${status}: ${why || 'see its log'}`);
    // A store that is ready is degraded by what is broken: the log, the read model, or what was signed.
    if (troubled.some(({ name }) => name === 'store'))
      return fail('service', `it runs, but ${why} ("What to do when" in docs/operations.md)`);
    return why === '' ? ok('service', `ready, according to ${url}`) : warn('service', `ready, but ${why}`);
  } catch (error) {
    if ((error as Error).name !== 'TimeoutError') return undefined;
    return fail('service', `${url} does not answer within ${LIMIT / 1_000} s: if that lasts, restart the service`);
  }
}

/** The address to connect to: loopback if the service listens on every address. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** Examines whether the issuer of tokens gives its keys. */
export async function examineIssuer(issuer: Config['issuer']): Promise<Finding> {
  if (issuer === undefined) return ok('issuer', 'development mode: plantstore token makes tokens');
  const { href } = issuer.jwksUrl;
  try {
    const { keys } = await fetchKeys(issuer.jwksUrl, LIMIT);
    return ok('issuer', `${href} has ${counted(keys.length, 'key')}`);
  } catch (error) {
    const fault = `${href}: ${fetchFailure(error as Error)}; the service cannot verify new tokens`;
    return fail('issuer', `${fault}: correct JWKS_URL, or let this machine reach the issuer`);
  }
}

/** Examines whether enough witnesses answer, whatever they answer. */
export async function examineWitnesses({ witnesses, quorum }: NonNullable<Config['witnesses']>): Promise<Finding[]> {
  const faults = await Promise.all(witnesses.map(({ url }) => silence(url)));
  const answering = faults.filter((fault) => fault === undefined).length;
  return witnesses.map(({ url, key: { name } }, index) => {
    const fault = faults[index];
    if (fault === undefined) return ok('witness', `${name} answers at ${url}`);
    const message = `${name} does not answer at ${url} (${fault})`;
    return answering >= quorum
      ? warn('witness', `${message}; needed: ${quorum}, answering: ${answering}`)
      : fail(
          'witness',
          `${message}: no checkpoint is newer, and receipts of new events get 503; needed: ${quorum}, answering: ${answering}`,
        );
  });
}

/** Why there is no answer. Undefined if there is one. */
async function silence(url: URL): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(LIMIT), redirect: 'manual' });
    await response.body?.cancel();
    return undefined;
  } catch (error) {
    return reasonOf((error as Error).cause ?? error);
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
    if (!(await client.hasTopic(topic))) return `the topic ${topic} does not exist`;
    return `the topic ${topic} has ${counted((await client.ranges(topic)).length, 'partition')}`;
  };
  try {
    return ok('kafka', await within(KAFKA_LIMIT, examined()));
  } catch (error) {
    const fault = `${settings.brokers.join()}: ${reasonOf(error)}; nothing can be published`;
    return fail('kafka', `${fault}: correct the settings KAFKA_*, or let this machine reach the brokers`);
  } finally {
    client.close();
  }
}
