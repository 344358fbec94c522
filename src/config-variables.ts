import { resolve } from 'node:path';
import { z } from 'zod';
import { LIMIT_VARIABLES } from './limit-variables.ts';
import { TRANSPARENCY_VARIABLES } from './transparency-variables.ts';

interface Variable {
  /** What a set value has to be, and what it becomes. */
  readonly schema: z.ZodType<unknown, string>;
  /** The value of an unset variable, in the form that the environment would have; without one, unset stays undefined. */
  readonly fallback?: string;
  /** What a right value looks like, for whoever set a wrong one. */
  readonly expected: string;
  /** What it is for. */
  readonly meaning: string;
  /** The value may hold a credential, so no message repeats it. */
  readonly secret?: true;
}

const integer = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d{1,16}$/)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum);

const port = integer(0, 65_535);
const PORT = 'a port from 0 to 65535 (0: any free one)';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Hosts on which nobody but this machine is reached, as Node's `listen` takes them. */
const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|::1)$/i;

/** Whether only this machine reaches what listens on a host. A name that may be anything counts as reachable. */
export const isLoopback = (host: string): boolean => LOOPBACK_HOST.test(host);

const jwksUrl = z
  .url()
  .transform((value) => new URL(value))
  .refine(({ protocol, hostname }) => protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname)))
  .refine(({ username, password }) => username === '' && password === '');

const path = z.string().transform((value) => resolve(value));

const origin = z.string().refine((value) => value === '*' || (URL.canParse(value) && new URL(value).origin === value));

const list = (separator: RegExp) => z.string().transform((value) => value.split(separator).filter(Boolean));

/** Every variable that the service reads, in the order in which its documents show them. */
export const VARIABLES = {
  HOST: {
    schema: z.string(),
    fallback: '127.0.0.1',
    expected: 'a host name or an IP address',
    meaning: 'where PORT and GRPC_PORT listen',
  },
  PORT: {
    schema: port,
    fallback: '8080',
    expected: PORT,
    meaning: 'REST, Connect, gRPC-Web, /console, /openapi.json and /docs',
  },
  GRPC_PORT: { schema: port, fallback: '50051', expected: PORT, meaning: 'gRPC' },
  ADMIN_HOST: {
    schema: z.string(),
    fallback: '127.0.0.1',
    expected: 'a host name or an IP address',
    meaning: 'where ADMIN_PORT listens, whatever HOST is',
  },
  ADMIN_PORT: { schema: port, fallback: '9464', expected: PORT, meaning: '/livez, /readyz and /metrics' },
  GRPC_TLS_CERT: {
    schema: path,
    expected: 'the path of a PEM file',
    meaning: 'certificate of the gRPC port, with its chain; unset together with the next: plaintext',
  },
  GRPC_TLS_KEY: { schema: path, expected: 'the path of a PEM file', meaning: 'private key of the certificate' },
  GRPC_TLS_CLIENT_CA: {
    schema: path,
    expected: 'the path of a PEM file',
    meaning: 'who signs the certificates that clients on the gRPC port must have; unset: they need none',
  },
  ADVERTISE_ADDRESS: {
    schema: z.string().regex(/^([^\s:/@[\]]+|\[[\da-fA-F:.]+\]):\d{1,5}$/),
    expected: 'HOST:PORT',
    meaning: "where the other instances reach GRPC_PORT; unset: at HOST, or at this machine's name if HOST is 0.0.0.0",
  },
  CORS_ORIGINS: {
    schema: list(/[\s,]+/).pipe(z.array(origin)),
    fallback: '',
    expected: 'origins such as https://app.example separated by a space, or * for all',
    meaning: 'whose scripts may call from a browser; unset: none',
  },
  MONGODB_URI: {
    schema: z.string().regex(/^mongodb(\+srv)?:\/\/[^/]/),
    expected: 'mongodb://HOST/... or mongodb+srv://HOST/...',
    meaning: 'the event log on MongoDB, a replica set; unset: SQLite in DATA_DIR',
    secret: true,
  },
  DATA_DIR: {
    schema: path,
    fallback: './data',
    expected: 'a folder',
    meaning: 'the SQLite file and the keys that are made here',
  },
  JWKS_URL: {
    schema: jwksUrl,
    expected: 'an https URL without credentials, or http on loopback',
    meaning: 'keys of the issuer of tokens; unset together with the next two: development mode, with a key of its own',
    secret: true,
  },
  JWT_ISSUER: { schema: z.string(), expected: 'the issuer of tokens', meaning: 'what `iss` of a token has to be' },
  JWT_AUDIENCE: {
    schema: z.string(),
    expected: 'the audience of tokens',
    meaning: 'what `aud` of a token has to hold',
  },
  AUTH_MODE: {
    schema: z.enum(['development']),
    expected: 'development, or nothing',
    meaning: 'says that development mode is meant where NODE_ENV or HOST would refuse it',
  },
  JWT_OWNER_CLAIM: {
    schema: z.string(),
    fallback: 'sub',
    expected: 'the name of a claim',
    meaning: 'the claim that says whose plants the caller sees',
  },
  JWT_REQUIRED_SCOPES: {
    schema: list(/[\s,]+/).pipe(z.array(z.enum(['plants:read', 'plants:write']))),
    fallback: '',
    expected: 'plants:read, plants:write or both, separated by a space',
    meaning: 'scopes that are enforced: plants:read for lists, plants:write for add and delete; unset: none',
  },
  JWKS_MAX_STALE: {
    schema: integer(0, 31_536_000),
    fallback: '86400',
    expected: 'whole seconds from 0 to 31536000',
    meaning: 'seconds that fetched keys are used for while the issuer cannot be reached',
  },
  RATE_LIMIT: {
    schema: integer(1, 1_000_000),
    expected: 'a whole number from 1 to 1000000; leave it unset for no limit',
    meaning: 'requests a second for each owner; unset: no limit',
  },
  ...LIMIT_VARIABLES,
  KAFKA_BROKERS: {
    schema: list(/,/).pipe(z.array(z.string().regex(/^[^\s:/@]+:\d{1,5}$/)).min(1)),
    expected: 'HOST:PORT, or several separated by commas',
    meaning: 'where events are published; unset: nowhere',
    secret: true,
  },
  KAFKA_TOPIC: {
    // Kafka takes 249; the topic of the checkpoint has a longer name.
    schema: z.string().regex(/^(?!\.{1,2}$)[\w.-]{1,238}$/),
    fallback: 'plantstore.events',
    expected: 'a topic name of at most 238 letters, digits, dots, dashes and underscores',
    meaning: 'the topic of the events',
  },
  KAFKA_PARTITIONS: {
    schema: integer(1, 250),
    expected: 'a whole number from 1 to 250',
    meaning: "partitions of the topic if it has to be created; unset: the broker's default",
  },
  KAFKA_REPLICATION: {
    schema: integer(1, 100),
    expected: 'a whole number from 1 to 100',
    meaning: "replicas of each partition if the topic has to be created; unset: the broker's default",
  },
  KAFKA_RETENTION: {
    schema: integer(0, 10_000_000_000),
    fallback: '604800',
    expected: 'a whole number of seconds from 0 (for good)',
    meaning: 'seconds that the topic keeps an event if it has to be created; 0: for good, which erases nobody there',
  },
  KAFKA_SSL: {
    schema: z.enum(['true', 'false']).transform((value) => value === 'true'),
    fallback: 'false',
    expected: 'true or false',
    meaning: 'Kafka is reached over TLS; NODE_EXTRA_CA_CERTS names a certificate authority of your own',
  },
  KAFKA_SASL_MECHANISM: {
    schema: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']),
    expected: 'plain, scram-sha-256 or scram-sha-512',
    meaning: 'how the service proves to Kafka who it is; unset together with the next two: it does not',
  },
  KAFKA_SASL_USERNAME: { schema: z.string(), expected: 'a user name', meaning: 'who the service is to Kafka' },
  KAFKA_SASL_PASSWORD: {
    schema: z.string(),
    expected: 'a password',
    meaning: 'what proves it to Kafka',
    secret: true,
  },
  ...TRANSPARENCY_VARIABLES,
  STRICT_READS: {
    schema: z.enum(['true', 'false']).transform((value) => value === 'true'),
    fallback: 'false',
    expected: 'true or false',
    meaning: 'lists never come from a deposed MongoDB primary, for one more write each time they share',
  },
  LIST_CACHE_BYTES: {
    schema: integer(0, 2 ** 40),
    fallback: String(64 * 1024 * 1024),
    expected: 'bytes from 0 to 1099511627776',
    meaning: 'most memory for lists that need not be read again while nothing of their owner changes; 0: none',
  },
  LOG_LEVEL: {
    schema: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    fallback: 'info',
    expected: 'trace, debug, info, warn, error, fatal or silent',
    meaning: 'the least severe log lines to write',
  },
  LOG_OWNER: {
    schema: z.enum(['hash', 'off']),
    fallback: 'hash',
    expected: 'hash or off',
    meaning: 'whether the line of a request has a hash of the owner',
  },
  NODE_ENV: {
    schema: z.string(),
    expected: 'production or anything else',
    meaning: 'production or prod, in capitals or not, refuses development mode',
  },
} as const satisfies Record<string, Variable>;
