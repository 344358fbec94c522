import { getHeapStatistics } from 'node:v8';
import type { z } from 'zod';
import { hasStrayEnds, LOOPBACK, MIN_MEMORY, SETTINGS } from './settings.ts';

type Settings = typeof SETTINGS;
type Values = {
  [Name in keyof Settings]: z.output<Settings[Name]['schema']> | (Settings[Name]['fallback'] & undefined);
};

/** The environment has invalid values. Each problem is one line: the name, what is wrong, what is expected. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** The settings of the service: checked, typed and frozen. Settings without a comment are those of SETTINGS. */
export type Config = ReturnType<typeof loadConfig>;

/**
 * Reads the environment. Nothing else does, except OpenTelemetry's SDK, which reads OTEL_* when traces are on. An empty
 * value counts as unset. Throws ConfigError with all problems at once; no problem repeats a value that may contain a
 * credential. `serves`: whether it is for the service, or what examines or helps it: then development mode is refused
 * where others may reach it, and MEMORY has to fit into the heap of this process.
 */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env, { serves = true } = {}) {
  const problems = new Problems();
  const values = readAll(environment, problems);
  const issuer = issuerOf(environment, values, problems, serves);
  const grpcTls = grpcTlsOf(environment, values, problems);
  const kafka = kafkaOf(environment, values, problems);
  const witnesses = witnessesOf(values, problems);
  refuseEqualPorts(values, problems);
  const ofMemory = serves ? problems : new Problems();
  const memory = memoryOf(values, ofMemory);
  const shares = sharesOf(memory, values, ofMemory);
  if (problems.lines.length > 0) throw new ConfigError(problems.lines);
  return Object.freeze({
    host: values.HOST,
    port: values.PORT,
    grpcPort: values.GRPC_PORT,
    adminHost: values.ADMIN_HOST,
    adminPort: values.ADMIN_PORT,
    /** Undefined: plaintext. */
    grpcTls,
    advertiseAddress: values.ADVERTISE_ADDRESS,
    corsOrigins: values.CORS_ORIGINS,
    /** Undefined: the log is on SQLite in `dataDirectory`. May contain a password. */
    mongodbUri: values.MONGODB_URI,
    /** An absolute path. */
    dataDirectory: values.DATA_DIR,
    /** Undefined: development mode. */
    issuer,
    ownerClaim: values.JWT_OWNER_CLAIM,
    requiredScopes: values.JWT_REQUIRED_SCOPES,
    limits: Object.freeze({
      maxInFlight: values.MAX_IN_FLIGHT,
      /** Milliseconds. */
      maxWait: values.MAX_WAIT,
      /** A second. Undefined: no limit. */
      rateLimit: values.RATE_LIMIT,
      maxQueuedCommands: values.MAX_QUEUED_COMMANDS,
      maxLongLists: values.MAX_LONG_LISTS,
      maxWatches: values.MAX_WATCHES,
      maxOwnerWatches: values.MAX_OWNER_WATCHES,
      maxConnections: values.MAX_CONNECTIONS ?? connectionsFor(memory),
      /** Seconds, as `idleTimeout`. */
      requestTimeout: values.REQUEST_TIMEOUT,
      idleTimeout: values.IDLE_TIMEOUT,
      /** Bytes that all requests under way may hold. */
      requestMemory: shares.requests,
    }),
    /** Undefined: events are not published. */
    kafka,
    auditSigningKey: values.AUDIT_SIGNING_KEY,
    logOrigin: values.LOG_ORIGIN,
    publicLog: values.PUBLIC_LOG,
    /** Undefined: no cosignatures. */
    witnesses,
    /** Seconds. */
    drainGrace: values.DRAIN_GRACE,
    strictReads: values.STRICT_READS,
    /** Bytes of memory for what grows with use. Together they are at most MEMORY. */
    memory: shares,
    logLevel: values.LOG_LEVEL,
    /** Whether the log line of a request has a hash of its owner. */
    logOwner: values.LOG_OWNER === 'hash',
    /** Undefined: no traces. `serviceName` is undefined when OpenTelemetry's own variables set it. */
    tracing: tracingOf(environment),
  });
}

/**
 * A line for each variable that is no setting and nearly has the name of one. Names are compared as if in capitals;
 * they differ in at most two letters, and a short name in one, or have the same letters in another order.
 */
export function misspeltSettings(environment: NodeJS.ProcessEnv = process.env): string[] {
  return Object.keys(environment).flatMap((name) => {
    if (name in SETTINGS) return [];
    const capitals = name.toUpperCase();
    const near = Object.keys(SETTINGS).find((own) => isNear(capitals, own));
    return near === undefined ? [] : [`${name} is no setting; did you mean ${near}?`];
  });
}

/** Most letters in which a name differs from the setting that was meant. */
const MOST_DIFFERENT = 2;

function isNear(name: string, own: string): boolean {
  // Kubernetes may set thousands of variables.
  if (Math.abs(name.length - own.length) > MOST_DIFFERENT) return false;
  return distance(name, own) <= Math.min(MOST_DIFFERENT, own.length / 4) || lettersOf(name) === lettersOf(own);
}

const lettersOf = (name: string): string => [...name].sort().join('');

/** Letters to add, to leave out or to replace in one text to get the other (Levenshtein's distance). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++)
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + Number(one[i - 1] !== other[j - 1]));
    row = next;
  }
  return row.at(-1)!;
}

type Name = keyof Settings;

/** What is wrong with the environment. */
class Problems {
  readonly lines: string[] = [];
  readonly #wrong = new Set<Name>();

  /** Adds what is wrong with one value by itself. */
  ofValue(name: Name, line: string): void {
    this.#wrong.add(name);
    this.lines.push(line);
  }

  /** Adds what is wrong with some settings together, unless one of them is wrong by itself: then nobody knows yet. */
  ofValues(names: readonly Name[], line: string): void {
    if (!names.some((name) => this.#wrong.has(name))) this.lines.push(line);
  }
}

/** Said of a value whose fault may be there. */
const ENDS = ', without a line end, blanks or quotes around it';

function readAll(environment: NodeJS.ProcessEnv, problems: Problems): Values {
  const entries = Object.entries(SETTINGS).map(([name, { expected, schema, fallback, isSecret }]) => {
    const value = environment[name] || fallback;
    if (value === undefined) return [name, undefined];
    const result = schema.safeParse(value);
    const found = isSecret ? 'invalid (value hidden)' : JSON.stringify(value);
    const line = `${name} is ${found}; expected ${expected}${hasStrayEnds(value) ? ENDS : ''}`;
    if (!result.success) problems.ofValue(name as Name, line);
    return [name, result.data];
  });
  return Object.fromEntries(entries);
}

const ISSUER = ['JWKS_URL', 'JWT_ISSUER', 'JWT_AUDIENCE'] as const;

function issuerOf(environment: NodeJS.ProcessEnv, values: Values, problems: Problems, serves: boolean) {
  const unset = ISSUER.filter((name) => !environment[name]);
  if (unset.length === ISSUER.length) {
    if (serves) refuseDevelopment(values, problems);
    return undefined;
  }
  if (values.AUTH_MODE === 'development')
    problems.ofValues(['AUTH_MODE'], `AUTH_MODE is "development"; unset it, or unset ${ISSUER.join(', ')}`);
  for (const name of unset) problems.ofValues([name], incomplete(name, ISSUER));
  const { JWKS_URL: jwksUrl, JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWKS_MAX_STALE: maxStale } = values;
  return jwksUrl && issuer && audience ? Object.freeze({ jwksUrl, issuer, audience, maxStale }) : undefined;
}

const PRODUCTION = /^prod(uction)?$/i;

/**
 * Adds why development mode cannot start without AUTH_MODE. In development mode, anyone who can read DATA_DIR can act
 * as any owner. An unknown host counts as reachable by others.
 */
function refuseDevelopment({ AUTH_MODE: mode, NODE_ENV: environment, HOST: host }: Values, problems: Problems): void {
  if (mode === 'development') return;
  const refuse = (name: Name, what: string) =>
    problems.ofValues(
      ['AUTH_MODE', name],
      `${name} is ${what}, so development mode is refused; set ${ISSUER.join(', ')}, or AUTH_MODE=development if you want it`,
    );
  if (PRODUCTION.test(environment ?? '')) refuse('NODE_ENV', JSON.stringify(environment));
  if (!LOOPBACK.test(host))
    refuse('HOST', `${JSON.stringify(host)}, and other machines may reach what is not loopback`);
}

const ADDRESSES = [
  ['PORT', 'HOST'],
  ['GRPC_PORT', 'HOST'],
  ['ADMIN_PORT', 'ADMIN_HOST'],
] as const;

/** Adds the ports that are to be opened twice on a host. */
function refuseEqualPorts(values: Values, problems: Problems): void {
  for (const [index, [name, host]] of ADDRESSES.entries())
    for (const [other, its] of ADDRESSES.slice(0, index))
      if (values[name] && values[name] === values[other] && values[host] === values[its])
        problems.ofValues([host, its], `${name} is "${values[name]}", as ${other}; expected another port`);
}

const incomplete = (name: string, together: readonly string[]): string =>
  `${name} is unset; set all of ${together.join(', ')}, or none of them`;

const SASL = ['KAFKA_SASL_MECHANISM', 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'] as const;

function kafkaOf(environment: NodeJS.ProcessEnv, values: Values, problems: Problems) {
  const unset = SASL.filter((name) => !environment[name]);
  if (unset.length < SASL.length) for (const name of unset) problems.ofValues([name], incomplete(name, SASL));
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: username, KAFKA_SASL_PASSWORD: password } = values;
  const { KAFKA_BROKERS: brokers, KAFKA_TOPIC: topic, KAFKA_SSL: ssl } = values;
  const { KAFKA_PARTITIONS: partitions, KAFKA_REPLICATION: replication, KAFKA_RETENTION: retention } = values;
  const sasl = mechanism && username && password ? Object.freeze({ mechanism, username, password }) : undefined;
  return brokers && Object.freeze({ brokers, topic, partitions, replication, retention, ssl, sasl });
}

function witnessesOf({ WITNESSES: witnesses, WITNESS_QUORUM: quorum }: Values, problems: Problems) {
  if (quorum !== undefined && quorum > (witnesses?.length ?? 0))
    problems.ofValues(['WITNESSES'], `WITNESS_QUORUM is "${quorum}"; expected at most the number of WITNESSES`);
  return witnesses?.length ? Object.freeze({ witnesses, quorum: quorum ?? witnesses.length }) : undefined;
}

/** Bytes of V8's heap that the service takes beside MEMORY: see "Bounds" in docs/architecture.md. */
const FIXED_MEMORY = 104 * 1024 * 1024;

function memoryOf({ MEMORY: set }: Values, problems: Problems): number {
  const { heap_size_limit: heap } = getHeapStatistics();
  const most = heap - FIXED_MEMORY;
  if (most < MIN_MEMORY)
    problems.ofValues(
      [],
      `V8's heap limit is ${heap}; expected at least ${FIXED_MEMORY + MIN_MEMORY} (--max-old-space-size)`,
    );
  else if (set !== undefined && set > most)
    problems.ofValue('MEMORY', `MEMORY is "${set}"; expected at most ${most}, V8's heap limit without what is fixed`);
  return set ?? Math.min(Math.floor(heap / 2), Math.max(most, MIN_MEMORY));
}

/** Shares MEMORY out. */
function sharesOf(memory: number, { LIST_CACHE_BYTES: listBytes }: Values, problems: Problems) {
  const quarter = Math.floor(memory / 4);
  const eighth = Math.floor(memory / 8);
  if (listBytes !== undefined && listBytes > quarter)
    problems.ofValues(
      ['MEMORY'],
      `LIST_CACHE_BYTES is "${listBytes}"; expected at most ${quarter}, a quarter of MEMORY`,
    );
  return Object.freeze({ tail: 3 * eighth, lists: listBytes ?? quarter, recentEvents: eighth, requests: quarter });
}

/** Most connections to a port by default, and the bytes of MEMORY for each. */
const MOST_CONNECTIONS = 10_000;
const CONNECTION_BYTES = 96 * 1024;

/**
 * So that idle connections to both ports have room beside V8's heap: one takes 15 KB, and one of gRPC 33, or up to 130
 * with TLS, mostly outside of it.
 */
const connectionsFor = (memory: number): number => Math.min(MOST_CONNECTIONS, Math.floor(memory / CONNECTION_BYTES));

const GRPC_TLS = ['GRPC_TLS_CERT', 'GRPC_TLS_KEY', 'GRPC_TLS_CLIENT_CA'] as const;

function grpcTlsOf(environment: NodeJS.ProcessEnv, values: Values, problems: Problems) {
  const { GRPC_TLS_CERT: certificate, GRPC_TLS_KEY: key, GRPC_TLS_CLIENT_CA: clientCa } = values;
  if (certificate && key) return Object.freeze({ certificate, key, ...(clientCa && { clientCa }) });
  const missing = environment.GRPC_TLS_CERT ? 'GRPC_TLS_KEY' : 'GRPC_TLS_CERT';
  if (GRPC_TLS.some((name) => environment[name]) && !environment[missing])
    problems.ofValues([missing], `${missing} is unset; set both GRPC_TLS_CERT and GRPC_TLS_KEY, or no GRPC_TLS_*`);
  return undefined;
}

/** Follows OpenTelemetry's variables, but when none is set, traces are off: its default is a local collector. */
function tracingOf(environment: NodeJS.ProcessEnv): { readonly serviceName: string | undefined } | undefined {
  if (environment.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return undefined;
  const exporters = environment.OTEL_TRACES_EXPORTER;
  const endpoint = environment.OTEL_EXPORTER_OTLP_ENDPOINT || environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  if (exporters ? exporters.split(',').some((name) => name.trim() === 'none') : !endpoint) return undefined;
  const named = environment.OTEL_SERVICE_NAME || /\bservice\.name=/.test(environment.OTEL_RESOURCE_ATTRIBUTES ?? '');
  return { serviceName: named ? undefined : 'plantstore' };
}
