import { createPrivateKey } from 'node:crypto';
import { resolve } from 'node:path';
import { z } from 'zod';
import { toBase64 } from './tlog/bytes.ts';
import { isKeyName, parseWitnessKey } from './tlog/verifier-key.ts';

/**
 * What a setting's values are: what a valid one looks like, for the error message; the schema that validates and
 * converts a set value; the value of an unset variable, as the environment would have it. Without that fallback, an
 * unset variable is undefined. No message repeats a value that may contain a credential.
 */
const values = <T, Fallback extends string | undefined = undefined>(
  expected: string,
  schema: z.ZodType<T, string>,
  fallback?: Fallback,
  isSecret = false,
) => ({ expected, schema, fallback: fallback as Fallback, isSecret });

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

/**
 * Whether a text has what env files and files of secrets leave at its ends: a line end, blanks, quotes. It would name
 * another database, folder or issuer than its writer meant.
 */
export const hasStrayEnds = (value: string): boolean => value !== value.trim() || /^(["'`]).*\1$/s.test(value);

const text = z.string().refine((value) => !hasStrayEnds(value) && !/\p{Cc}/u.test(value));

/** `HOST:PORT` of another program, of this form. */
const hostAndPort = (form: RegExp) =>
  z
    .string()
    .regex(form)
    .refine((value) => isReachablePort(Number(value.slice(value.lastIndexOf(':') + 1))));

/** A host to listen on. An IPv6 address may have the brackets that it has in a URL. */
const host = text.transform((value) => value.replace(/^\[([\da-f:.]+)\]$/i, '$1'));
const listenHost = (fallback: string) => values('a host name or an IP address', host, fallback);

/** Hosts that are this machine, as a URL has them or as Node's `listen` takes them. */
export const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i;

/** A URL's own reader leaves out what is around it. */
const jwksUrl = text
  .pipe(z.url())
  .transform((value) => new URL(value))
  .refine(({ protocol, hostname }) => protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname)))
  .refine(({ username, password }) => username === '' && password === '');

const notBlank = text.regex(/\S/);

/** Claims that say something else: by `iss`, `aud` or `scope`, all callers would be one owner. */
const NO_OWNER = ['iss', 'aud', 'exp', 'nbf', 'iat', 'cnf', 'scope', 'scp'];

/** Only a shell knows what `~` is. */
const path = text.regex(/^(?!~)/).transform((value) => resolve(value));
const pemFile = values('the path of a PEM file', path);

/** Browsers send origins without a wildcard, and the whole name is compared. */
const isOrigin = (value: string): boolean =>
  URL.canParse(value) && new URL(value).origin === value && !value.includes('*');
const origin = z.string().refine((value) => value === '*' || isOrigin(value));

const list = (separator: RegExp) => z.string().transform((value) => value.split(separator).filter(Boolean));
const words = list(/[\s,]+/);
const origins = words.pipe(z.array(origin));
/** Separators alone would be a set setting that requires nothing. */
const scopes = z
  .string()
  .regex(/^$|[^\s,]/)
  .pipe(words)
  .pipe(z.array(z.enum(['plants:read', 'plants:write'])));

const brokers = words.pipe(z.array(hostAndPort(/^[^\s:/@]+:\d{1,5}$/)).min(1));

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

/** By their keys: one with two names or addresses is no quorum of two. */
const areDifferent = (witnesses: readonly z.output<typeof witness>[]): boolean =>
  new Set(witnesses.map(({ key }) => toBase64(key.publicKey))).size === witnesses.length;

/** So that one owner's largest batch of requests, and the events that they become, fit in their shares. */
export const MIN_MEMORY = 32 * 1024 * 1024;

/** Every variable that the service reads, in the order of docs/configuration.md, which says what each means. */
export const SETTINGS = {
  HOST: listenHost('127.0.0.1'),
  PORT: port('8080'),
  GRPC_PORT: port('50051'),
  ADMIN_HOST: listenHost('127.0.0.1'),
  ADMIN_PORT: port('9464'),
  GRPC_TLS_CERT: pemFile,
  GRPC_TLS_KEY: pemFile,
  GRPC_TLS_CLIENT_CA: pemFile,
  ADVERTISE_ADDRESS: values(
    'HOST:PORT, with a port from 1 to 65535',
    hostAndPort(/^([^\s:/@[\]]+|\[[\da-fA-F:.]+\]):\d{1,5}$/),
  ),
  CORS_ORIGINS: values(
    'origins such as https://app.example (no wildcard, no slash at the end), separated by spaces or commas, or * for all',
    origins,
    '',
  ),
  MONGODB_URI: secret('mongodb://HOST/... or mongodb+srv://HOST/...', text.regex(/^mongodb(\+srv)?:\/\/[^/]/)),
  DATA_DIR: values('a folder, whose name begins with no ~', path, './data'),
  JWKS_URL: secret('an https URL without credentials, or http on loopback', jwksUrl),
  JWT_ISSUER: values('the issuer of tokens', notBlank),
  JWT_AUDIENCE: values('the audience of tokens', notBlank),
  AUTH_MODE: values('development, or nothing', z.enum(['development'])),
  JWT_OWNER_CLAIM: values(
    `the name of a claim, and none of ${NO_OWNER.join(', ')}`,
    notBlank.refine((name) => !NO_OWNER.includes(name)),
    'sub',
  ),
  JWT_REQUIRED_SCOPES: values('plants:read, plants:write or both, separated by a space', scopes, ''),
  JWKS_MAX_STALE: values('whole seconds from 0 to 31536000', integer(0, 31_536_000), '86400'),
  RATE_LIMIT: values('a whole number from 1 to 1000000; leave it unset for no limit', integer(1, 1_000_000)),
  MEMORY: values(`a whole number of bytes, ${MIN_MEMORY} or more`, integer(MIN_MEMORY, Number.MAX_SAFE_INTEGER)),
  MAX_IN_FLIGHT: whole(1, 100_000, '1024'),
  MAX_WAIT: whole(0, 60_000, '500'),
  MAX_QUEUED_COMMANDS: whole(1, 100_000, '8192'),
  MAX_LONG_LISTS: whole(1, 10_000, '32'),
  MAX_WATCHES: whole(0, 1_000_000, '10000'),
  MAX_OWNER_WATCHES: whole(1, 100_000, '16'),
  MAX_CONNECTIONS: values('a whole number from 1 to 1000000', integer(1, 1_000_000)),
  REQUEST_TIMEOUT: whole(1, 3_600, '50'),
  IDLE_TIMEOUT: whole(1, 3_600, '55'),
  DRAIN_GRACE: whole(0, 600, '1'),
  KAFKA_BROKERS: secret('HOST:PORT, or several separated by spaces or commas, with ports from 1 to 65535', brokers),
  KAFKA_TOPIC: values(
    'a topic name of at most 238 letters, digits, dots, dashes and underscores',
    topic,
    'plantstore.events',
  ),
  KAFKA_PARTITIONS: whole(1, 250),
  KAFKA_REPLICATION: whole(1, 100),
  KAFKA_RETENTION: values(
    'whole seconds from 0 to 10000000000; 0 keeps events for ever',
    integer(0, 10_000_000_000),
    '604800',
  ),
  KAFKA_SSL: flag('false'),
  KAFKA_SASL_MECHANISM: choice(['plain', 'scram-sha-256', 'scram-sha-512']),
  KAFKA_SASL_USERNAME: values('a user name', text),
  KAFKA_SASL_PASSWORD: secret('a password without control characters', z.string().regex(/^\P{Cc}*$/u)),
  PUBLIC_LOG: flag('true'),
  LOG_ORIGIN: values(
    'a name such as log.example.org/plants, without spaces or plus signs',
    // A byte order mark is no space of Unicode, but nobody means to have one in a name.
    text.refine((name) => isKeyName(name) && !name.includes('\ufeff')),
  ),
  AUDIT_SIGNING_KEY: secret('an Ed25519 private key, as PKCS #8 in PEM', ed25519Key),
  WITNESSES: values(
    'URL=VKEY with the vkey of a witness, or several of different witnesses, separated by spaces',
    list(/\s+/).pipe(z.array(witness).refine(areDifferent)),
  ),
  WITNESS_QUORUM: values('a whole number from 1 to the number of witnesses', integer(1, 999)),
  STRICT_READS: flag('false'),
  LIST_CACHE_BYTES: values('bytes from 0 to a quarter of MEMORY', integer(0, 2 ** 40)),
  LOG_LEVEL: choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], 'info'),
  LOG_OWNER: choice(['hash', 'off'], 'hash'),
  NODE_ENV: values('production or prod, or anything else', text),
} as const;
