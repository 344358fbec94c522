import type { KeyObject } from 'node:crypto';
import type { z } from 'zod';
import { VARIABLES } from './config-variables.ts';

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

/** Where events are published. */
export interface KafkaSettings {
  readonly brokers: readonly string[];
  readonly topic: string;
  /** Of the topic, should it have to be created. Undefined: the broker's default. */
  readonly partitions: number | undefined;
  readonly replication: number | undefined;
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

/** The settings of the service: checked, typed and frozen. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly grpcPort: number;
  readonly adminPort: number;
  /** Undefined: plaintext. */
  readonly grpcTls: GrpcTls | undefined;
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
  /** Undefined: events are published nowhere. */
  readonly kafka: KafkaSettings | undefined;
  /** Undefined: a key in `dataDirectory`. */
  readonly auditSigningKey: KeyObject | undefined;
  readonly strictReads: boolean;
  readonly logLevel: Values['LOG_LEVEL'];
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
 * Reads the environment, the only place that does. An empty value counts as unset.
 * Throws ConfigError with every problem at once, and repeats no value that may hold a credential.
 */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const problems: string[] = [];
  const values = readAll(environment, problems);
  const issuer = issuerOf(environment, values, problems);
  const grpcTls = grpcTlsOf(values, problems);
  const kafka = kafkaOf(environment, values, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze({
    host: values.HOST,
    port: values.PORT,
    grpcPort: values.GRPC_PORT,
    adminPort: values.ADMIN_PORT,
    grpcTls,
    corsOrigins: values.CORS_ORIGINS,
    mongodbUri: values.MONGODB_URI,
    dataDirectory: values.DATA_DIR,
    issuer,
    ownerClaim: values.JWT_OWNER_CLAIM,
    requiredScopes: values.JWT_REQUIRED_SCOPES,
    rateLimit: values.RATE_LIMIT,
    kafka,
    auditSigningKey: values.AUDIT_SIGNING_KEY,
    strictReads: values.STRICT_READS,
    logLevel: values.LOG_LEVEL,
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
    if (values.NODE_ENV === 'production')
      problems.push(
        'NODE_ENV is "production", which refuses development mode; set JWKS_URL, JWT_ISSUER and JWT_AUDIENCE, or another NODE_ENV',
      );
    return undefined;
  }
  problems.push(...unset.map((name) => incomplete(name, ISSUER)));
  const { JWKS_URL: jwksUrl, JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWKS_MAX_STALE: maxStale } = values;
  return jwksUrl && issuer && audience ? Object.freeze({ jwksUrl, issuer, audience, maxStale }) : undefined;
}

const incomplete = (name: string, together: readonly string[]): string =>
  `${name} is unset; expected all of ${together.join(', ')}, or none of them`;

const SASL = ['KAFKA_SASL_MECHANISM', 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'] as const;

function kafkaOf(environment: NodeJS.ProcessEnv, values: Values, problems: string[]): KafkaSettings | undefined {
  const unset = SASL.filter((name) => !environment[name]);
  if (unset.length < SASL.length) problems.push(...unset.map((name) => incomplete(name, SASL)));
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: username, KAFKA_SASL_PASSWORD: password } = values;
  const { KAFKA_BROKERS: brokers, KAFKA_TOPIC: topic, KAFKA_SSL: ssl } = values;
  const { KAFKA_PARTITIONS: partitions, KAFKA_REPLICATION: replication } = values;
  const sasl = mechanism && username && password ? Object.freeze({ mechanism, username, password }) : undefined;
  return brokers && Object.freeze({ brokers, topic, partitions, replication, ssl, sasl });
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
