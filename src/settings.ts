import { createPrivateKey } from 'node:crypto';
import { resolve } from 'node:path';
import { z } from 'zod';
import { isKeyName, parseWitnessKey } from './tlog/verifier-key.ts';

/**
 * What a setting's values are: what a valid one looks like, for the error message; the schema that validates and converts
 * a set value; the value of an unset variable, as the environment would have it. Without that fallback, an unset
 * variable is undefined. No message repeats a value that may contain a credential. `means` adds what
 * docs/configuration.md says of the setting.
 */
const values = <T, Fallback extends string | undefined = undefined>(
  expected: string,
  schema: z.ZodType<T, string>,
  fallback?: Fallback,
  isSecret = false,
) => ({
  means: (meaning: string) => ({ expected, schema, fallback: fallback as Fallback, isSecret, meaning }),
});

const secret = <T>(expected: string, schema: z.ZodType<T, string>) => values(expected, schema, undefined, true);

const integer = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d{1,16}$/)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum);

const whole = <Fallback extends string | undefined = undefined>(
  minimum: number,
  maximum: number,
  fallback?: Fallback,
) => values(`a whole number from ${minimum} to ${maximum}`, integer(minimum, maximum), fallback);

const choice = <const All extends readonly string[], Fallback extends string | undefined = undefined>(
  all: All,
  fallback?: Fallback,
) => values(`${all.slice(0, -1).join(', ')} or ${all.at(-1)}`, z.enum(all), fallback);

const isTrue = z.enum(['true', 'false']).transform((value) => value === 'true');
const flag = (fallback: string) => values('true or false', isTrue, fallback);

const port = (fallback: string) => values('a port from 0 to 65535 (0: any free one)', integer(0, 65_535), fallback);

const isReachablePort = (port: number): boolean => port >= 1 && port <= 65_535;

/** `HOST:PORT` of another program, of this form. */
const hostAndPort = (form: RegExp) =>
  z
    .string()
    .regex(form)
    .refine((value) => isReachablePort(Number(value.slice(value.lastIndexOf(':') + 1))));

/** A host to listen on. An IPv6 address may have the brackets that it has in a URL. */
const host = z.string().transform((value) => value.replace(/^\[([\da-f:.]+)\]$/i, '$1'));
const listenHost = (fallback: string) => values('a host name or an IP address', host, fallback);

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

const jwksUrl = z
  .url()
  .transform((value) => new URL(value))
  .refine(({ protocol, hostname }) => protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname)))
  .refine(({ username, password }) => username === '' && password === '');

const path = z.string().transform((value) => resolve(value));
const pemFile = values('the path of a PEM file', path);

/** Browsers send origins without a wildcard, and the whole name is compared. */
const isOrigin = (value: string): boolean =>
  URL.canParse(value) && new URL(value).origin === value && !value.includes('*');
const origin = z.string().refine((value) => value === '*' || isOrigin(value));

const list = (separator: RegExp) => z.string().transform((value) => value.split(separator).filter(Boolean));
const words = list(/[\s,]+/);
const origins = words.pipe(z.array(origin));
const scopes = words.pipe(z.array(z.enum(['plants:read', 'plants:write'])));

const brokers = list(/,/).pipe(z.array(hostAndPort(/^[^\s:/@]+:\d{1,5}$/)).min(1));

// Kafka allows 249 characters; the checkpoint's topic has a longer name.
const topic = z.string().regex(/^(?!\.{1,2}$)[\w.-]{1,238}$/);

const ed25519Key = z.string().transform((value, context) => {
  try {
    const key = createPrivateKey(value);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {}
  context.addIssue({ code: 'custom' });
  return z.NEVER;
});

const witness = z.string().transform((value, context) => {
  const [, url = '', vkey = ''] = /^(https?:\/\/[^\s=?#]+)=(.+)$/.exec(value) ?? [];
  try {
    return { url: new URL(url), key: parseWitnessKey(vkey) };
  } catch {
    context.addIssue({ code: 'custom' });
    return z.NEVER;
  }
});

/** So that one owner's largest batch of requests, and the events that they become, fit in their shares. */
const MIN_MEMORY = 32 * 1024 * 1024;

/** Every variable that the service reads, in the order of the documentation, and in its words. */
export const SETTINGS = {
  HOST: listenHost('127.0.0.1').means(
    'Address that `PORT` and `GRPC_PORT` listen on. Any address but loopback needs an issuer of tokens, or `AUTH_MODE`.',
  ),
  PORT: port('8080').means(
    'Port of REST, Connect, gRPC-Web, `/console`, `/openapi.json`, `/docs` and `/log`. 0 takes any free port.',
  ),
  GRPC_PORT: port('50051').means('Port of gRPC. 0 takes any free port.'),
  ADMIN_HOST: listenHost('127.0.0.1').means('Address that `ADMIN_PORT` listens on, whatever `HOST` is.'),
  ADMIN_PORT: port('9464').means('Port of `/livez`, `/readyz` and `/metrics`.'),
  GRPC_TLS_CERT: pemFile.means(
    'PEM file: the certificate of the gRPC port, with its chain. Unset, as `GRPC_TLS_KEY`: plaintext.',
  ),
  GRPC_TLS_KEY: pemFile.means('PEM file: the private key of that certificate.'),
  GRPC_TLS_CLIENT_CA: pemFile.means(
    'PEM file: the authority that signs client certificates. Set: clients of the gRPC port must show one.',
  ),
  ADVERTISE_ADDRESS: values(
    'HOST:PORT, with a port from 1 to 65535',
    hostAndPort(/^([^\s:/@[\]]+|\[[\da-fA-F:.]+\]):\d{1,5}$/),
  ).means(
    "`HOST:PORT` at which the other instances reach `GRPC_PORT`. Unset: `HOST`, or the machine's name if `HOST` is 0.0.0.0.",
  ),
  CORS_ORIGINS: values(
    'origins such as https://app.example (no wildcard, no slash at the end), separated by spaces or commas, or * for all',
    origins,
    '',
  ).means('Origins whose scripts may call from a browser, separated by spaces or commas; `*` for all. Unset: none.'),
  MONGODB_URI: secret(
    'mongodb://HOST/... or mongodb+srv://HOST/...',
    z.string().regex(/^mongodb(\+srv)?:\/\/[^/]/),
  ).means('The replica set that holds the log ([mongodb.md](mongodb.md)). Unset: SQLite.'),
  DATA_DIR: values('a folder', path, './data').means(
    'Folder of the SQLite file and of the keys that the service makes.',
  ),
  JWKS_URL: secret('an https URL without credentials, or http on loopback', jwksUrl).means(
    "URL of the issuer's key set: https, or http on loopback. Set it with `JWT_ISSUER` and `JWT_AUDIENCE`, or none of the three.",
  ),
  JWT_ISSUER: values('the issuer of tokens', z.string()).means('Required value of the claim `iss`.'),
  JWT_AUDIENCE: values('the audience of tokens', z.string()).means('Required value among those of the claim `aud`.'),
  AUTH_MODE: values('development, or nothing', z.enum(['development'])).means(
    '`development` allows development mode where `NODE_ENV` or `HOST` refuses it.',
  ),
  JWT_OWNER_CLAIM: values('the name of a claim', z.string(), 'sub').means('Claim that names the owner of the plants.'),
  JWT_REQUIRED_SCOPES: values('plants:read, plants:write or both, separated by a space', scopes, '').means(
    'Scopes to enforce: `plants:read` for all that reads plants, `plants:write` for adds and deletes. Unset: none.',
  ),
  JWKS_MAX_STALE: values('whole seconds from 0 to 31536000', integer(0, 31_536_000), '86400').means(
    'Seconds for which fetched keys stay in use while the issuer cannot be reached.',
  ),
  RATE_LIMIT: values('a whole number from 1 to 1000000; leave it unset for no limit', integer(1, 1_000_000)).means(
    'Requests per second for each owner. Unset: no limit.',
  ),
  MEMORY: values(`a whole number of bytes, ${MIN_MEMORY} or more`, integer(MIN_MEMORY, Number.MAX_SAFE_INTEGER)).means(
    "Bytes for what grows with use: new events, lists, requests under way, events for watches that resume. [architecture.md](architecture.md#bounds) has the shares. At least 33554432. Unset: half of V8's heap limit.",
  ),
  MAX_IN_FLIGHT: whole(1, 100_000, '1024').means(
    'Requests served at once, over all protocols; a quarter of them for one owner. More wait.',
  ),
  MAX_WAIT: whole(0, 60_000, '500').means(
    'Milliseconds that a request may wait for the CPU, and again for others to be served, before it is refused.',
  ),
  MAX_QUEUED_COMMANDS: whole(1, 100_000, '8192').means('Adds and deletes that wait for the store. More are refused.'),
  MAX_LONG_LISTS: whole(1, 10_000, '32').means(
    'Long lists (over 1 MiB, some 2,500 plants) that one owner may read at once.',
  ),
  MAX_WATCHES: whole(0, 1_000_000, '10000').means('Streams of changes at once, over all protocols. More are refused.'),
  MAX_OWNER_WATCHES: whole(1, 100_000, '16').means('Streams of changes of one owner. More are refused.'),
  MAX_CONNECTIONS: whole(1, 1_000_000, '10000').means(
    'Connections to each of `PORT` and `GRPC_PORT`. More are closed at once.',
  ),
  REQUEST_TIMEOUT: whole(1, 3_600, '50').means(
    'Seconds within which a request must arrive completely; its headers within 20 s at most.',
  ),
  IDLE_TIMEOUT: whole(1, 3_600, '55').means(
    'Seconds after which a connection is closed if nothing arrives on it, or if its answer is not read.',
  ),
  DRAIN_GRACE: whole(0, 600, '1').means(
    'Seconds after SIGTERM in which the instance is unready and still serves, so that balancers notice.',
  ),
  KAFKA_BROKERS: secret('HOST:PORT, or several separated by commas, with ports from 1 to 65535', brokers).means(
    'Brokers as `HOST:PORT`, separated by commas. Unset: the service publishes nothing.',
  ),
  KAFKA_TOPIC: values(
    'a topic name of at most 238 letters, digits, dots, dashes and underscores',
    topic,
    'plantstore.events',
  ).means('Topic of the events.'),
  KAFKA_PARTITIONS: whole(1, 250).means(
    "Partitions of the topic, if the service creates it. Unset: the broker's default.",
  ),
  KAFKA_REPLICATION: whole(1, 100).means(
    "Replicas of each partition, if the service creates the topic. Unset: the broker's default.",
  ),
  KAFKA_RETENTION: values(
    'a whole number of seconds; 0 keeps events forever',
    integer(0, 10_000_000_000),
    '604800',
  ).means(
    'Seconds that the topic keeps an event, if the service creates it. 0: for ever, with the events of erased owners.',
  ),
  KAFKA_SSL: flag('false').means(
    '`true`: connect to Kafka over TLS. `NODE_EXTRA_CA_CERTS` names your own certificate authority.',
  ),
  KAFKA_SASL_MECHANISM: choice(['plain', 'scram-sha-256', 'scram-sha-512']).means(
    '`plain`, `scram-sha-256` or `scram-sha-512`. Unset, as user name and password: no authentication.',
  ),
  KAFKA_SASL_USERNAME: values('a user name', z.string()).means('User name at Kafka.'),
  KAFKA_SASL_PASSWORD: secret('a password', z.string()).means('Password at Kafka.'),
  PUBLIC_LOG: flag('true').means('Whether `/log` is served on `PORT`, without a token.'),
  LOG_ORIGIN: values(
    'a name such as log.example.org/plants, without spaces or plus signs',
    z.string().refine(isKeyName),
  ).means(
    'Name of the log and of its key in checkpoints; keep it once it is set. Unset: `plantstore/` and the id of the log.',
  ),
  AUDIT_SIGNING_KEY: secret('an Ed25519 private key, as PKCS #8 in PEM', ed25519Key).means(
    'Ed25519 private key, PKCS #8 in PEM, that signs checkpoints. Unset: a key in `DATA_DIR`, made on first use.',
  ),
  WITNESSES: values(
    'URL=VKEY with the vkey of a witness, or several separated by spaces',
    list(/\s+/).pipe(z.array(witness)),
  ).means('Witnesses that cosign checkpoints before they are served: `URL=VKEY`, separated by spaces. Unset: none.'),
  WITNESS_QUORUM: values('a whole number from 1 to the number of witnesses', integer(1, 999)).means(
    'Number of witnesses that must cosign. Unset: all.',
  ),
  STRICT_READS: flag('false').means(
    '`true`: a deposed MongoDB primary never answers a list. Each shared look at the head then costs one write.',
  ),
  LIST_CACHE_BYTES: values('bytes from 0 to a quarter of MEMORY', integer(0, 2 ** 40)).means(
    'Most memory, in bytes, for lists that are kept until something of their owner changes; at most a quarter of `MEMORY`. 0: none. Unset: a quarter of `MEMORY`.',
  ),
  LOG_LEVEL: choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], 'info').means(
    'Least severe level that is written: trace, debug, info, warn, error, fatal or silent.',
  ),
  LOG_OWNER: choice(['hash', 'off'], 'hash').means(
    "`hash`: a request's line has a keyed hash of the owner. `off`: it names no owner.",
  ),
  NODE_ENV: values('production or anything else', z.string()).means(
    '`production` or `prod`, in upper or lower case, refuses development mode.',
  ),
} as const;
