import type { KeyObject } from 'node:crypto';
import type { z } from 'zod';
import { isLoopback, VARIABLES } from './config-variables.ts';

type Name = keyof typeof VARIABLES;
type Value<V extends { schema: z.ZodType }> = V extends { fallback: string }
  ? z.output<V['schema']>
  : z.output<V['schema']> | undefined;
type Values = { [N in Name]: Value<(typeof VARIABLES)[N]> };

/** Who may issue tokens, and where their keys are. */
export interface Issuer {
  readonly jwksUrl: URL;
  readonly issuer: string;
  readonly audience: string;
  /** Seconds that fetched keys are used for while the issuer cannot be reached. */
  readonly maxStale: number;
}

/** Absolute paths of the PEM files for TLS on the gRPC port. */
export interface GrpcTls {
  readonly certificate: string;
  readonly key: string;
  /** Who signs the certificates that clients must have. */
  readonly clientCa?: string;
}

/** What callers can make the service hold or wait for at most. */
export interface Limits {
  /** Requests at once, over all protocols. */
  readonly maxInFlight: number;
  /** Milliseconds that a request may wait to be one of them. */
  readonly maxWait: number;
  /** Commands that wait for the store. */
  readonly maxQueuedCommands: number;
  /** Long lists that one owner may be reading. */
  readonly maxLongLists: number;
  /** Streams of changes, over all protocols. */
  readonly maxWatches: number;
  /** Of these, of one owner. */
  readonly maxOwnerWatches: number;
  /** Connections to each port. */
  readonly maxConnections: number;
  /** Seconds in which a request must have arrived. */
  readonly requestTimeout: number;
  /** Seconds after which a connection is closed that says nothing, or takes nothing. */
  readonly idleTimeout: number;
}

/** Where events are published. */
export interface KafkaSettings {
  readonly brokers: readonly string[];
  readonly topic: string;
  /** Of the topic, should it have to be created. Undefined: the broker's default. */
  readonly partitions: number | undefined;
  readonly replication: number | undefined;
  /** Seconds that the topic keeps an event, should it have to be created; 0: for good. */
  readonly retention: number;
  /** TLS. */
  readonly ssl: boolean;
  /** Holds a password. */
  readonly sasl:
    | {
        readonly mechanism: NonNullable<Values['KAFKA_SASL_MECHANISM']>;
        readonly username: string;
        readonly password: string;
      }
    | undefined;
}

/** Who cosigns checkpoints. */
export interface WitnessSettings {
  readonly witnesses: Values['WITNESSES'];
  /** How many of them are enough. */
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
  /** Where the other instances reach the gRPC port, `host:port`; undefined: where it listens. */
  readonly advertiseAddress: string | undefined;
  /** Whose scripts may call from a browser: origins, or `*`. */
  readonly corsOrigins: readonly string[];
  /** Undefined: the log is on SQLite in `dataDirectory`. May hold a password. */
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
  /** Undefined: events are published nowhere. */
  readonly kafka: KafkaSettings | undefined;
  /** Undefined: a key in `dataDirectory`. */
  readonly auditSigningKey: KeyObject | undefined;
  /** Undefined: from the log's id. */
  readonly logOrigin: string | undefined;
  /** Whether the transparency log is served. */
  readonly publicLog: boolean;
  /** Undefined: nobody cosigns. */
  readonly witnesses: WitnessSettings | undefined;
  /** Seconds for which the service is unready and still serves before it stops. */
  readonly drainGrace: number;
  readonly strictReads: boolean;
  /** Most bytes of lists to remember. */
  readonly listCacheBytes: number;
  readonly logLevel: Values['LOG_LEVEL'];
  /** Whether log lines of requests have a hash of the owner. */
  readonly logOwner: boolean;
  /** Undefined: no traces. Their service name is undefined where OpenTelemetry's own variables say one. */
  readonly tracing: { readonly serviceName: string | undefined } | undefined;
}

/** The environment holds wrong values. Each problem is one line: the name, what is wrong, what is expected. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/**
 * Reads the environment, the only place that does, but for OpenTelemetry's SDK, which reads OTEL_* itself when traces are on. An empty value counts as unset.
 * Throws ConfigError with every problem at once, and repeats no value that may hold a credential.
 */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const problems: string[] = [];
  const values = readAll(environment, problems);
  const issuer = issuerOf(environment, values, problems);
  const grpcTls = grpcTlsOf(values, problems);
  const kafka = kafkaOf(environment, values, problems);
  const witnesses = witnessesOf(values, problems);
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
    }),
    kafka,
    auditSigningKey: values.AUDIT_SIGNING_KEY,
    logOrigin: values.LOG_ORIGIN,
    publicLog: values.PUBLIC_LOG,
    witnesses,
    drainGrace: values.DRAIN_GRACE,
    strictReads: values.STRICT_READS,
    listCacheBytes: values.LIST_CACHE_BYTES,
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
      const found = 'secret' in variable ? 'wrong (its value is not shown)' : JSON.stringify(value);
      problems.push(`${name} is ${found}; expected ${variable.expected}`);
    }
    return [name, result.data];
  });
  return Object.fromEntries(entries) as Values;
}

const ISSUER = ['JWKS_URL', 'JWT_ISSUER', 'JWT_AUDIENCE'] as const;

function issuerOf(environment: NodeJS.ProcessEnv, values: Values, problems: string[]): Issuer | undefined {
  const unset = ISSUER.filter((name) => !environment[name]);
  if (unset.length === ISSUER.length) {
    problems.push(...refusedDevelopment(values));
    return undefined;
  }
  if (values.AUTH_MODE === 'development')
    problems.push(`AUTH_MODE is "development"; expected no ${ISSUER.join(', ')} beside it, or no AUTH_MODE`);
  problems.push(...unset.map((name) => incomplete(name, ISSUER)));
  const { JWKS_URL: jwksUrl, JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWKS_MAX_STALE: maxStale } = values;
  return jwksUrl && issuer && audience ? Object.freeze({ jwksUrl, issuer, audience, maxStale }) : undefined;
}

const PRODUCTION = /^prod(uction)?$/i;

/** Why development mode, in which whoever reads DATA_DIR may be anybody, is not to be had here by mistake. */
function refusedDevelopment({ AUTH_MODE: mode, NODE_ENV: environment, HOST: host }: Values): string[] {
  if (mode === 'development') return [];
  const refused = (what: string) =>
    `${what}, which refuses development mode; set ${ISSUER.join(', ')}, or AUTH_MODE=development if it is meant`;
  return [
    ...(PRODUCTION.test(environment ?? '') ? [refused(`NODE_ENV is ${JSON.stringify(environment)}`)] : []),
    ...(isLoopback(host) ? [] : [refused(`HOST is ${JSON.stringify(host)}, which others may reach`)]),
  ];
}

const incomplete = (name: string, together: readonly string[]): string =>
  `${name} is unset; expected all of ${together.join(', ')}, or none of them`;

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
    problems.push(`WITNESS_QUORUM is "${quorum}"; expected no more than the WITNESSES that there are`);
  return witnesses && witnesses.length > 0
    ? Object.freeze({ witnesses, quorum: quorum ?? witnesses.length })
    : undefined;
}

function grpcTlsOf(values: Values, problems: string[]): GrpcTls | undefined {
  const { GRPC_TLS_CERT: certificate, GRPC_TLS_KEY: key, GRPC_TLS_CLIENT_CA: clientCa } = values;
  if (certificate && key) return Object.freeze({ certificate, key, ...(clientCa && { clientCa }) });
  if (certificate || key || clientCa)
    problems.push(
      `${certificate ? 'GRPC_TLS_KEY' : 'GRPC_TLS_CERT'} is unset; expected GRPC_TLS_CERT and GRPC_TLS_KEY, or no GRPC_TLS_*`,
    );
  return undefined;
}

/** By the meaning that OpenTelemetry gives its variables, but that unset is off: its own default is a collector on this host. */
function tracingOf(environment: NodeJS.ProcessEnv): Config['tracing'] {
  if (environment.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return undefined;
  const exporters = environment.OTEL_TRACES_EXPORTER;
  const endpoint = environment.OTEL_EXPORTER_OTLP_ENDPOINT || environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  if (exporters ? exporters.split(',').some((name) => name.trim() === 'none') : !endpoint) return undefined;
  const named = environment.OTEL_SERVICE_NAME || /\bservice\.name=/.test(environment.OTEL_RESOURCE_ATTRIBUTES ?? '');
  return { serviceName: named ? undefined : 'plantstore' };
}
