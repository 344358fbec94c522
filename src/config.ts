import type { KeyObject } from 'node:crypto';
import { getHeapStatistics } from 'node:v8';
import type { z } from 'zod';
import { isLoopback, VARIABLES } from './config-variables.ts';

type Name = keyof typeof VARIABLES;
type Value<V extends { schema: z.ZodType }> = V extends { fallback: string }
  ? z.output<V['schema']>
  : z.output<V['schema']> | undefined;
type Values = { [N in Name]: Value<(typeof VARIABLES)[N]> };

/** The issuer of tokens, and where its keys are. */
export interface Issuer {
  readonly jwksUrl: URL;
  readonly issuer: string;
  readonly audience: string;
  /** Seconds for which fetched keys stay in use while the issuer is unreachable. */
  readonly maxStale: number;
}

/** Absolute paths of the PEM files for TLS on the gRPC port. */
export interface GrpcTls {
  readonly certificate: string;
  readonly key: string;
  /** CA that must have signed the certificates of clients. */
  readonly clientCa?: string;
}

/** Bounds on what callers can make the service hold or wait for. */
export interface Limits {
  /** Requests at once, over all protocols. */
  readonly maxInFlight: number;
  /** Milliseconds that a request may wait for its turn, and again for a permit. */
  readonly maxWait: number;
  /** Commands that may wait for the store. */
  readonly maxQueuedCommands: number;
  /** Long lists that one owner may read at once. */
  readonly maxLongLists: number;
  /** Watches at once, over all protocols. */
  readonly maxWatches: number;
  /** Watches at once of one owner. */
  readonly maxOwnerWatches: number;
  /** Connections to each port. */
  readonly maxConnections: number;
  /** Seconds within which a whole request must arrive. */
  readonly requestTimeout: number;
  /** Seconds without traffic, in either direction, after which a connection is closed. */
  readonly idleTimeout: number;
  /** Bytes that all requests under way may hold. */
  readonly requestMemory: number;
}

/** Bytes of memory for what grows with use. Together they are at most MEMORY. */
export interface Memory {
  /** Events after the checkpoint. */
  readonly tail: number;
  /** Cached lists. */
  readonly lists: number;
  /** Events for watches that resume. */
  readonly recentEvents: number;
  /** Requests under way. */
  readonly requests: number;
}

/** Where events are published. */
export interface KafkaSettings {
  readonly brokers: readonly string[];
  readonly topic: string;
  /** Partitions of a topic that the service creates. Undefined: the broker's default. */
  readonly partitions: number | undefined;
  readonly replication: number | undefined;
  /** Seconds for which a topic that the service creates keeps an event; 0: forever. */
  readonly retention: number;
  /** Whether to connect over TLS. */
  readonly ssl: boolean;
  /** Contains a password. */
  readonly sasl:
    | {
        readonly mechanism: NonNullable<Values['KAFKA_SASL_MECHANISM']>;
        readonly username: string;
        readonly password: string;
      }
    | undefined;
}

/** The witnesses that cosign checkpoints. */
export interface WitnessSettings {
  readonly witnesses: Values['WITNESSES'];
  /** Cosignatures that a checkpoint needs. */
  readonly quorum: number;
}

/** The settings of the service: checked, typed and frozen. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly grpcPort: number;
  readonly adminHost: string;
  readonly adminPort: number;
  /** Undefined: plaintext. */
  readonly grpcTls: GrpcTls | undefined;
  /** `host:port` at which other instances reach the gRPC port. Undefined: the address it listens on. */
  readonly advertiseAddress: string | undefined;
  /** Origins whose scripts may call from a browser, or `*`. */
  readonly corsOrigins: readonly string[];
  /** Undefined: the log is on SQLite in `dataDirectory`. May contain a password. */
  readonly mongodbUri: string | undefined;
  /** An absolute path. */
  readonly dataDirectory: string;
  /** Undefined: development mode. */
  readonly issuer: Issuer | undefined;
  readonly ownerClaim: string;
  readonly requiredScopes: readonly string[];
  /** Requests a second for each owner. */
  readonly rateLimit: number | undefined;
  readonly limits: Limits;
  /** Undefined: events are not published. */
  readonly kafka: KafkaSettings | undefined;
  /** Undefined: the key in `dataDirectory`. */
  readonly auditSigningKey: KeyObject | undefined;
  /** Undefined: derived from the log's id. */
  readonly logOrigin: string | undefined;
  /** Whether the transparency log is served. */
  readonly publicLog: boolean;
  /** Undefined: no cosignatures. */
  readonly witnesses: WitnessSettings | undefined;
  /** Seconds between turning unready and stopping; the service serves meanwhile. */
  readonly drainGrace: number;
  readonly strictReads: boolean;
  readonly memory: Memory;
  readonly logLevel: Values['LOG_LEVEL'];
  /** Whether the log line of a request has a hash of its owner. */
  readonly logOwner: boolean;
  /** Undefined: no traces. `serviceName` is undefined when OpenTelemetry's own variables set it. */
  readonly tracing: { readonly serviceName: string | undefined } | undefined;
}

/** The environment has invalid values. Each problem is one line: the name, what is wrong, what is expected. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/**
 * Reads the environment. Nothing else does, except OpenTelemetry's SDK, which reads OTEL_* when traces are on. An empty
 * value counts as unset. Throws ConfigError with all problems at once; no problem repeats a value that may contain a
 * credential.
 */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const problems: string[] = [];
  const values = readAll(environment, problems);
  problems.push(...equalPorts(values));
  const issuer = issuerOf(environment, values, problems);
  const grpcTls = grpcTlsOf(values, problems);
  const kafka = kafkaOf(environment, values, problems);
  const witnesses = witnessesOf(values, problems);
  const memory = memoryOf(values, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze({
    host: values.HOST,
    port: values.PORT,
    grpcPort: values.GRPC_PORT,
    adminHost: values.ADMIN_HOST,
    adminPort: values.ADMIN_PORT,
    grpcTls,
    advertiseAddress: values.ADVERTISE_ADDRESS,
    corsOrigins: values.CORS_ORIGINS,
    mongodbUri: values.MONGODB_URI,
    dataDirectory: values.DATA_DIR,
    issuer,
    ownerClaim: values.JWT_OWNER_CLAIM,
    requiredScopes: values.JWT_REQUIRED_SCOPES,
    rateLimit: values.RATE_LIMIT,
    limits: Object.freeze({
      maxInFlight: values.MAX_IN_FLIGHT,
      maxWait: values.MAX_WAIT,
      maxQueuedCommands: values.MAX_QUEUED_COMMANDS,
      maxLongLists: values.MAX_LONG_LISTS,
      maxWatches: values.MAX_WATCHES,
      maxOwnerWatches: values.MAX_OWNER_WATCHES,
      maxConnections: values.MAX_CONNECTIONS,
      requestTimeout: values.REQUEST_TIMEOUT,
      idleTimeout: values.IDLE_TIMEOUT,
      requestMemory: memory.requests,
    }),
    kafka,
    auditSigningKey: values.AUDIT_SIGNING_KEY,
    logOrigin: values.LOG_ORIGIN,
    publicLog: values.PUBLIC_LOG,
    witnesses,
    drainGrace: values.DRAIN_GRACE,
    strictReads: values.STRICT_READS,
    memory,
    logLevel: values.LOG_LEVEL,
    logOwner: values.LOG_OWNER === 'hash',
    tracing: tracingOf(environment),
  });
}

function readAll(environment: NodeJS.ProcessEnv, problems: string[]): Values {
  const entries = Object.entries(VARIABLES).map(([name, variable]) => {
    const value = environment[name] || ('fallback' in variable ? variable.fallback : undefined);
    if (value === undefined) return [name, undefined];
    const result = variable.schema.safeParse(value);
    if (!result.success) {
      const found = 'secret' in variable ? 'invalid (value hidden)' : JSON.stringify(value);
      problems.push(`${name} is ${found}; expected ${variable.expected}`);
    }
    return [name, result.data];
  });
  return Object.fromEntries(entries) as Values;
}

/** Ports that exclude each other, because they listen on a common address. 0 is any free port. */
function equalPorts(values: Values): string[] {
  const { HOST: host, PORT: http, GRPC_PORT: grpc, ADMIN_HOST: adminHost, ADMIN_PORT: admin } = values;
  const equal = (one: string, other: string, port: number) =>
    `${one} and ${other} are both ${port}; set them to different ports`;
  const adminIsApart = host !== adminHost && ![host, adminHost].some((each) => EVERY_ADDRESS.has(each));
  return [
    ...(http === grpc && http > 0 ? [equal('PORT', 'GRPC_PORT', http)] : []),
    ...(admin === http && admin > 0 && !adminIsApart ? [equal('PORT', 'ADMIN_PORT', admin)] : []),
    ...(admin === grpc && admin > 0 && !adminIsApart ? [equal('GRPC_PORT', 'ADMIN_PORT', admin)] : []),
  ];
}

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

const ISSUER = ['JWKS_URL', 'JWT_ISSUER', 'JWT_AUDIENCE'] as const;

function issuerOf(environment: NodeJS.ProcessEnv, values: Values, problems: string[]): Issuer | undefined {
  const unset = ISSUER.filter((name) => !environment[name]);
  if (unset.length === ISSUER.length) {
    problems.push(...refusedDevelopment(values));
    return undefined;
  }
  if (values.AUTH_MODE === 'development')
    problems.push(`AUTH_MODE is "development"; unset it, or unset ${ISSUER.join(', ')}`);
  problems.push(...unset.map((name) => incomplete(name, ISSUER)));
  const { JWKS_URL: jwksUrl, JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWKS_MAX_STALE: maxStale } = values;
  return jwksUrl && issuer && audience ? Object.freeze({ jwksUrl, issuer, audience, maxStale }) : undefined;
}

const PRODUCTION = /^prod(uction)?$/i;

/**
 * Why development mode cannot start without AUTH_MODE. In development mode, anyone who can read DATA_DIR can act as any
 * owner.
 */
function refusedDevelopment({ AUTH_MODE: mode, NODE_ENV: environment, HOST: host }: Values): string[] {
  if (mode === 'development') return [];
  const refused = (what: string) =>
    `${what}, which refuses development mode; set ${ISSUER.join(', ')}, or AUTH_MODE=development if you want development mode`;
  return [
    ...(PRODUCTION.test(environment ?? '') ? [refused(`NODE_ENV is ${JSON.stringify(environment)}`)] : []),
    ...(isLoopback(host) ? [] : [refused(`HOST is ${JSON.stringify(host)}, which other machines may reach`)]),
  ];
}

const incomplete = (name: string, together: readonly string[]): string =>
  `${name} is unset; set all of ${together.join(', ')}, or none of them`;

const SASL = ['KAFKA_SASL_MECHANISM', 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'] as const;

function kafkaOf(environment: NodeJS.ProcessEnv, values: Values, problems: string[]): KafkaSettings | undefined {
  const unset = SASL.filter((name) => !environment[name]);
  if (unset.length < SASL.length) problems.push(...unset.map((name) => incomplete(name, SASL)));
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: username, KAFKA_SASL_PASSWORD: password } = values;
  const { KAFKA_BROKERS: brokers, KAFKA_TOPIC: topic, KAFKA_SSL: ssl } = values;
  const { KAFKA_PARTITIONS: partitions, KAFKA_REPLICATION: replication, KAFKA_RETENTION: retention } = values;
  const sasl = mechanism && username && password ? Object.freeze({ mechanism, username, password }) : undefined;
  return brokers && Object.freeze({ brokers, topic, partitions, replication, retention, ssl, sasl });
}

function witnessesOf(
  { WITNESSES: witnesses, WITNESS_QUORUM: quorum }: Values,
  problems: string[],
): WitnessSettings | undefined {
  if (quorum !== undefined && quorum > (witnesses?.length ?? 0))
    problems.push(`WITNESS_QUORUM is "${quorum}"; expected at most the number of WITNESSES`);
  return witnesses && witnesses.length > 0
    ? Object.freeze({ witnesses, quorum: quorum ?? witnesses.length })
    : undefined;
}

/** Shares MEMORY out. */
function memoryOf({ MEMORY: set, LIST_CACHE_BYTES: listBytes }: Values, problems: string[]): Memory {
  const memory = set ?? Math.floor(getHeapStatistics().heap_size_limit / 2);
  const quarter = Math.floor(memory / 4);
  const eighth = Math.floor(memory / 8);
  if (listBytes !== undefined && listBytes > quarter)
    problems.push(`LIST_CACHE_BYTES is "${listBytes}"; expected at most ${quarter}, a quarter of MEMORY`);
  return Object.freeze({ tail: 3 * eighth, lists: listBytes ?? quarter, recentEvents: eighth, requests: quarter });
}

function grpcTlsOf(values: Values, problems: string[]): GrpcTls | undefined {
  const { GRPC_TLS_CERT: certificate, GRPC_TLS_KEY: key, GRPC_TLS_CLIENT_CA: clientCa } = values;
  if (certificate && key) return Object.freeze({ certificate, key, ...(clientCa && { clientCa }) });
  if (certificate || key || clientCa)
    problems.push(
      `${certificate ? 'GRPC_TLS_KEY' : 'GRPC_TLS_CERT'} is unset; set both GRPC_TLS_CERT and GRPC_TLS_KEY, or no GRPC_TLS_*`,
    );
  return undefined;
}

/**
 * Follows OpenTelemetry's variables, with one difference: when none is set, traces are off. OpenTelemetry's default is
 * a collector on this host.
 */
function tracingOf(environment: NodeJS.ProcessEnv): Config['tracing'] {
  if (environment.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return undefined;
  const exporters = environment.OTEL_TRACES_EXPORTER;
  const endpoint = environment.OTEL_EXPORTER_OTLP_ENDPOINT || environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  if (exporters ? exporters.split(',').some((name) => name.trim() === 'none') : !endpoint) return undefined;
  const named = environment.OTEL_SERVICE_NAME || /\bservice\.name=/.test(environment.OTEL_RESOURCE_ATTRIBUTES ?? '');
  return { serviceName: named ? undefined : 'plantstore' };
}
