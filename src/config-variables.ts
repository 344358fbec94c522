import { resolve } from 'node:path';
import { z } from 'zod';
import { LIMIT_VARIABLES } from './limit-variables.ts';
import { TRANSPARENCY_VARIABLES } from './transparency-variables.ts';

interface Variable {
  /** Validates a set value and converts it. */
  readonly schema: z.ZodType<unknown, string>;
  /**
   * Value of an unset variable, as the environment would have it. Without a fallback, an unset variable is undefined.
   */
  readonly fallback?: string;
  /** What a valid value looks like, for the error message. */
  readonly expected: string;
  /** What the variable does. */
  readonly meaning: string;
  /** The value may contain a credential, so no message repeats it. */
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

const isReachablePort = (port: number): boolean => port >= 1 && port <= 65_535;

/** `HOST:PORT` of another program, of this form. */
const hostAndPort = (form: RegExp) =>
  z
    .string()
    .regex(form)
    .refine((value) => isReachablePort(Number(value.slice(value.lastIndexOf(':') + 1))));

/** A host to listen on. An IPv6 address may have the brackets that it has in a URL. */
const listenHost = z.string().transform((value) => value.replace(/^\[([\da-f:.]+)\]$/i, '$1'));

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Hosts that Node's `listen` binds to loopback. */
const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|::1)$/i;

/** Whether only this machine can reach a listener on the host. An unknown name counts as reachable by others. */
export const isLoopback = (host: string): boolean => LOOPBACK_HOST.test(host);

const jwksUrl = z
  .url()
  .transform((value) => new URL(value))
  .refine(({ protocol, hostname }) => protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname)))
  .refine(({ username, password }) => username === '' && password === '');

const path = z.string().transform((value) => resolve(value));

const origin = z.string().refine((value) => value === '*' || (URL.canParse(value) && new URL(value).origin === value));

const list = (separator: RegExp) => z.string().transform((value) => value.split(separator).filter(Boolean));

/** Every variable that the service reads, in the order of the documentation. */
export const VARIABLES = {
  HOST: {
    schema: listenHost,
    fallback: '127.0.0.1',
    expected: 'a host name or an IP address',
    meaning: 'address that PORT and GRPC_PORT listen on',
  },
  PORT: {
    schema: port,
    fallback: '8080',
    expected: PORT,
    meaning: 'REST, Connect, gRPC-Web, /console, /openapi.json and /docs',
  },
  GRPC_PORT: { schema: port, fallback: '50051', expected: PORT, meaning: 'gRPC' },
  ADMIN_HOST: {
    schema: listenHost,
    fallback: '127.0.0.1',
    expected: 'a host name or an IP address',
    meaning: 'address that ADMIN_PORT listens on, independent of HOST',
  },
  ADMIN_PORT: { schema: port, fallback: '9464', expected: PORT, meaning: '/livez, /readyz and /metrics' },
  GRPC_TLS_CERT: {
    schema: path,
    expected: 'the path of a PEM file',
    meaning: 'certificate chain of the gRPC port; GRPC_TLS_CERT and GRPC_TLS_KEY both unset: plaintext',
  },
  GRPC_TLS_KEY: { schema: path, expected: 'the path of a PEM file', meaning: 'private key of GRPC_TLS_CERT' },
  GRPC_TLS_CLIENT_CA: {
    schema: path,
    expected: 'the path of a PEM file',
    meaning:
      'CA that must have signed the certificates of clients on the gRPC port; unset: clients need no certificate',
  },
  ADVERTISE_ADDRESS: {
    schema: hostAndPort(/^([^\s:/@[\]]+|\[[\da-fA-F:.]+\]):\d{1,5}$/),
    expected: 'HOST:PORT, with a port from 1 to 65535',
    meaning: "address at which other instances reach GRPC_PORT; unset: HOST, or this machine's name if HOST is 0.0.0.0",
  },
  CORS_ORIGINS: {
    schema: list(/[\s,]+/).pipe(z.array(origin)),
    fallback: '',
    expected: 'origins such as https://app.example separated by a space, or * for all',
    meaning: 'origins whose scripts may call from a browser; unset: none',
  },
  MONGODB_URI: {
    schema: z.string().regex(/^mongodb(\+srv)?:\/\/[^/]/),
    expected: 'mongodb://HOST/... or mongodb+srv://HOST/...',
    meaning: 'the MongoDB replica set that stores the event log; unset: SQLite in DATA_DIR',
    secret: true,
  },
  DATA_DIR: {
    schema: path,
    fallback: './data',
    expected: 'a folder',
    meaning: 'folder of the SQLite file and of generated keys',
  },
  JWKS_URL: {
    schema: jwksUrl,
    expected: 'an https URL without credentials, or http on loopback',
    meaning:
      'key set (JWKS) of the token issuer; unset, with JWT_ISSUER and JWT_AUDIENCE: development mode with a generated key',
    secret: true,
  },
  JWT_ISSUER: { schema: z.string(), expected: 'the issuer of tokens', meaning: 'required value of the claim `iss`' },
  JWT_AUDIENCE: {
    schema: z.string(),
    expected: 'the audience of tokens',
    meaning: 'value that the claim `aud` must contain',
  },
  AUTH_MODE: {
    schema: z.enum(['development']),
    expected: 'development, or nothing',
    meaning: 'allows development mode where NODE_ENV or HOST would refuse it',
  },
  JWT_OWNER_CLAIM: {
    schema: z.string(),
    fallback: 'sub',
    expected: 'the name of a claim',
    meaning: 'claim that names the owner of the plants',
  },
  JWT_REQUIRED_SCOPES: {
    schema: list(/[\s,]+/).pipe(z.array(z.enum(['plants:read', 'plants:write']))),
    fallback: '',
    expected: 'plants:read, plants:write or both, separated by a space',
    meaning: 'scopes to enforce: plants:read for lists, plants:write for add and delete; unset: none',
  },
  JWKS_MAX_STALE: {
    schema: integer(0, 31_536_000),
    fallback: '86400',
    expected: 'whole seconds from 0 to 31536000',
    meaning: 'seconds for which fetched keys stay in use while the issuer is unreachable',
  },
  RATE_LIMIT: {
    schema: integer(1, 1_000_000),
    expected: 'a whole number from 1 to 1000000; leave it unset for no limit',
    meaning: 'requests a second for each owner; unset: no limit',
  },
  ...LIMIT_VARIABLES,
  KAFKA_BROKERS: {
    schema: list(/,/).pipe(z.array(hostAndPort(/^[^\s:/@]+:\d{1,5}$/)).min(1)),
    expected: 'HOST:PORT, or several separated by commas, with ports from 1 to 65535',
    meaning: 'brokers that events are published to; unset: events are not published',
    secret: true,
  },
  KAFKA_TOPIC: {
    // Kafka allows 249 characters; the checkpoint's topic has a longer name.
    schema: z.string().regex(/^(?!\.{1,2}$)[\w.-]{1,238}$/),
    fallback: 'plantstore.events',
    expected: 'a topic name of at most 238 letters, digits, dots, dashes and underscores',
    meaning: 'topic that events are published to',
  },
  KAFKA_PARTITIONS: {
    schema: integer(1, 250),
    expected: 'a whole number from 1 to 250',
    meaning: "partitions of the topic if the service creates it; unset: the broker's default",
  },
  KAFKA_REPLICATION: {
    schema: integer(1, 100),
    expected: 'a whole number from 1 to 100',
    meaning: "replicas of each partition if the service creates the topic; unset: the broker's default",
  },
  KAFKA_RETENTION: {
    schema: integer(0, 10_000_000_000),
    fallback: '604800',
    expected: 'a whole number of seconds; 0 keeps events forever',
    meaning:
      'seconds that the topic keeps an event if the service creates it; 0: forever, so erased data stays on the topic',
  },
  KAFKA_SSL: {
    schema: z.enum(['true', 'false']).transform((value) => value === 'true'),
    fallback: 'false',
    expected: 'true or false',
    meaning: 'whether to reach Kafka over TLS; NODE_EXTRA_CA_CERTS adds a private CA',
  },
  KAFKA_SASL_MECHANISM: {
    schema: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']),
    expected: 'plain, scram-sha-256 or scram-sha-512',
    meaning: 'how the service authenticates to Kafka; all three KAFKA_SASL_* unset: it does not',
  },
  KAFKA_SASL_USERNAME: { schema: z.string(), expected: 'a user name', meaning: 'user name for Kafka' },
  KAFKA_SASL_PASSWORD: {
    schema: z.string(),
    expected: 'a password',
    meaning: 'password for Kafka',
    secret: true,
  },
  ...TRANSPARENCY_VARIABLES,
  STRICT_READS: {
    schema: z.enum(['true', 'false']).transform((value) => value === 'true'),
    fallback: 'false',
    expected: 'true or false',
    meaning: 'whether lists rule out a deposed MongoDB primary; each batch of lists then costs one more write',
  },
  LIST_CACHE_BYTES: {
    schema: integer(0, 2 ** 40),
    expected: 'bytes from 0 to a quarter of MEMORY',
    meaning:
      'most bytes of memory for caching lists until a plant of their owner changes; 0: no cache; unset: a quarter of MEMORY',
  },
  LOG_LEVEL: {
    schema: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    fallback: 'info',
    expected: 'trace, debug, info, warn, error, fatal or silent',
    meaning: 'lowest severity of the log lines to write',
  },
  LOG_OWNER: {
    schema: z.enum(['hash', 'off']),
    fallback: 'hash',
    expected: 'hash or off',
    meaning: 'whether the log line of a request has a hash of its owner',
  },
  NODE_ENV: {
    schema: z.string(),
    expected: 'production or anything else',
    meaning: 'production or prod, in any case, refuses development mode',
  },
} as const satisfies Record<string, Variable>;
