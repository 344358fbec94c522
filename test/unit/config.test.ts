import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { resolve } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { expect, test } from 'vitest';
import { ConfigError, loadConfig, misspeltSettings } from '../../src/config.ts';
import { cosigner } from '../../src/tlog/signer.ts';
import { formatVerifierKey } from '../../src/tlog/verifier-key.ts';

const ed25519 = generateKeyPairSync('ed25519').privateKey;

const WITNESS = cosigner('witness.example', ed25519).key;
const VKEY = formatVerifierKey(WITNESS);
const OTHER = cosigner('other.example', generateKeyPairSync('ed25519').privateKey).key;

const JWT = { JWKS_URL: 'https://issuer.test/jwks.json', JWT_ISSUER: 'https://issuer.test/', JWT_AUDIENCE: 'plants' };

function problemsOf(environment: NodeJS.ProcessEnv): readonly string[] {
  try {
    loadConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

const MIB = 1024 * 1024;

/** Half of the heap is shared out. */
const memory = Math.floor(getHeapStatistics().heap_size_limit / 2);
const quarter = Math.floor(memory / 4);
const eighth = Math.floor(memory / 8);

const defaults = {
  host: '127.0.0.1',
  port: 8080,
  grpcPort: 50051,
  adminHost: '127.0.0.1',
  adminPort: 9464,
  advertiseAddress: undefined,
  grpcTls: undefined,
  corsOrigins: [],
  mongodbUri: undefined,
  dataDirectory: resolve('data'),
  issuer: undefined,
  ownerClaim: 'sub',
  requiredScopes: [],
  limits: {
    maxInFlight: 1024,
    maxWait: 500,
    rateLimit: undefined,
    maxQueuedCommands: 8192,
    maxLongLists: 32,
    maxWatches: 10_000,
    maxOwnerWatches: 16,
    maxConnections: 10_000,
    requestTimeout: 50,
    idleTimeout: 55,
    requestMemory: quarter,
  },
  memory: { tail: 3 * eighth, lists: quarter, recentEvents: eighth, requests: quarter },
  drainGrace: 1,
  kafka: undefined,
  auditSigningKey: undefined,
  logOrigin: undefined,
  publicLog: true,
  witnesses: undefined,
  strictReads: false,
  logLevel: 'info',
  logOwner: true,
  tracing: undefined,
};

test('an empty environment gives the documented defaults', () => {
  expect(loadConfig({})).toStrictEqual(defaults);
  expect(Object.isFrozen(loadConfig({}))).toBe(true);
});

test('an empty value counts as unset', () => {
  const names = ['HOST', 'PORT', 'MONGODB_URI', 'DATA_DIR', 'JWKS_URL', 'JWT_ISSUER', 'JWT_AUDIENCE', 'RATE_LIMIT'];
  expect(loadConfig(Object.fromEntries(names.map((name) => [name, ''])))).toStrictEqual(defaults);
});

test('every variable is read', () => {
  const config = loadConfig({
    HOST: '::1',
    PORT: '0',
    GRPC_PORT: '65535',
    ADMIN_HOST: '10.0.0.7',
    ADMIN_PORT: '1',
    GRPC_TLS_CERT: '/etc/plants/tls.crt',
    GRPC_TLS_KEY: '/etc/plants/tls.key',
    GRPC_TLS_CLIENT_CA: '/etc/plants/ca.crt',
    ADVERTISE_ADDRESS: '10.1.2.3:50051',
    CORS_ORIGINS: 'https://app.test http://localhost:3000',
    MONGODB_URI: 'mongodb+srv://plants:secret@cluster.test/store',
    DATA_DIR: '/var/lib/plants',
    ...JWT,
    JWT_OWNER_CLAIM: 'tenant',
    JWT_REQUIRED_SCOPES: 'plants:read plants:write',
    JWKS_MAX_STALE: '0',
    RATE_LIMIT: '50',
    MEMORY: String(64 * MIB),
    MAX_IN_FLIGHT: '7',
    MAX_WAIT: '100',
    MAX_QUEUED_COMMANDS: '9',
    MAX_LONG_LISTS: '3',
    MAX_WATCHES: '50',
    MAX_OWNER_WATCHES: '8',
    MAX_CONNECTIONS: '4',
    REQUEST_TIMEOUT: '5',
    IDLE_TIMEOUT: '6',
    DRAIN_GRACE: '0',
    KAFKA_BROKERS: 'one.test:9092, two.test:9093\n',
    KAFKA_TOPIC: 'plants',
    KAFKA_PARTITIONS: '12',
    KAFKA_REPLICATION: '3',
    KAFKA_RETENTION: '60',
    KAFKA_SSL: 'true',
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    KAFKA_SASL_USERNAME: 'plantstore',
    KAFKA_SASL_PASSWORD: 'secret',
    AUDIT_SIGNING_KEY: ed25519.export({ type: 'pkcs8', format: 'pem' }).toString(),
    LOG_ORIGIN: 'log.example/plants',
    PUBLIC_LOG: 'false',
    WITNESSES: `https://one.example/w=${VKEY}\n http://two.example=${formatVerifierKey(OTHER)}`,
    WITNESS_QUORUM: '1',
    STRICT_READS: 'true',
    LIST_CACHE_BYTES: '0',
    LOG_LEVEL: 'debug',
    LOG_OWNER: 'off',
    NODE_ENV: 'production',
  });
  expect(config).toStrictEqual({
    host: '::1',
    port: 0,
    grpcPort: 65535,
    adminHost: '10.0.0.7',
    adminPort: 1,
    advertiseAddress: '10.1.2.3:50051',
    grpcTls: { certificate: '/etc/plants/tls.crt', key: '/etc/plants/tls.key', clientCa: '/etc/plants/ca.crt' },
    corsOrigins: ['https://app.test', 'http://localhost:3000'],
    mongodbUri: 'mongodb+srv://plants:secret@cluster.test/store',
    dataDirectory: '/var/lib/plants',
    issuer: { jwksUrl: new URL(JWT.JWKS_URL), issuer: JWT.JWT_ISSUER, audience: 'plants', maxStale: 0 },
    ownerClaim: 'tenant',
    requiredScopes: ['plants:read', 'plants:write'],
    limits: {
      maxInFlight: 7,
      maxWait: 100,
      rateLimit: 50,
      maxQueuedCommands: 9,
      maxLongLists: 3,
      maxWatches: 50,
      maxOwnerWatches: 8,
      maxConnections: 4,
      requestTimeout: 5,
      idleTimeout: 6,
      requestMemory: 16 * MIB,
    },
    memory: { tail: 24 * MIB, lists: 0, recentEvents: 8 * MIB, requests: 16 * MIB },
    drainGrace: 0,
    kafka: {
      brokers: ['one.test:9092', 'two.test:9093'],
      topic: 'plants',
      partitions: 12,
      replication: 3,
      retention: 60,
      ssl: true,
      sasl: { mechanism: 'scram-sha-512', username: 'plantstore', password: 'secret' },
    },
    auditSigningKey: expect.toSatisfy((key: KeyObject) => key.equals(ed25519)),
    logOrigin: 'log.example/plants',
    publicLog: false,
    witnesses: {
      witnesses: [
        { url: new URL('https://one.example/w'), key: WITNESS },
        { url: new URL('http://two.example'), key: OTHER },
      ],
      quorum: 1,
    },
    strictReads: true,
    logLevel: 'debug',
    logOwner: false,
    tracing: undefined,
  });
});

test.each([
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', '80a'],
  ['PORT', '8080.0'],
  ['PORT', ' 8080'],
  ['PORT', '0x50'],
  ['GRPC_PORT', '1e3'],
  ['ADMIN_PORT', 'http'],
  ['AUTH_MODE', 'none'],
  ['DATA_DIR', '~/plants'],
  ['ADVERTISE_ADDRESS', 'plants-1'],
  ['ADVERTISE_ADDRESS', 'http://plants-1:50051'],
  ['ADVERTISE_ADDRESS', 'plants-1:99999'],
  ['ADVERTISE_ADDRESS', 'plants-1:0'],
  ['ADVERTISE_ADDRESS', '[::1]:65536'],
  ['CORS_ORIGINS', 'app.test'],
  ['CORS_ORIGINS', 'https://app.test/'],
  ['CORS_ORIGINS', 'https://*.app.test'],
  ['JWT_OWNER_CLAIM', ' '],
  ['JWT_OWNER_CLAIM', 'iss'],
  ['JWT_OWNER_CLAIM', 'scope'],
  ['JWT_REQUIRED_SCOPES', 'plants:audit'],
  ['JWT_REQUIRED_SCOPES', ' '],
  ['JWT_REQUIRED_SCOPES', ','],
  ['LOG_ORIGIN', 'log+example'],
  ['LOG_ORIGIN', 'log example'],
  ['LOG_ORIGIN', '\ufefflog.example'],
  ['PUBLIC_LOG', 'yes'],
  ['WITNESSES', 'https://one.example'],
  ['WITNESSES', `https://one.example=${VKEY.slice(0, -2)}=`],
  ['WITNESSES', `ftp://one.example=${VKEY}`],
  ['WITNESSES', `https://one.example=${formatVerifierKey({ ...WITNESS, type: 1 })}`],
  // One witness, with two addresses, and with two names.
  ['WITNESSES', `https://one.example=${VKEY} https://two.example=${VKEY}`],
  ['WITNESSES', `https://one.example=${VKEY} https://one.example=${formatVerifierKey({ ...WITNESS, name: 'two' })}`],
  ['WITNESS_QUORUM', '0'],
  ['WITNESS_QUORUM', '1'],
  ['JWKS_MAX_STALE', '1d'],
  ['RATE_LIMIT', '0'],
  ['RATE_LIMIT', '1.5'],
  ['MEMORY', '33554431'],
  ['MEMORY', '64 MiB'],
  ['MEMORY', '-1'],
  ['MEMORY', '99999999999999'],
  ['MAX_IN_FLIGHT', '0'],
  ['DRAIN_GRACE', '601'],
  ['KAFKA_TOPIC', 'a topic'],
  ['KAFKA_TOPIC', '..'],
  ['KAFKA_PARTITIONS', '0'],
  ['KAFKA_REPLICATION', 'all'],
  ['KAFKA_RETENTION', '7d'],
  ['KAFKA_RETENTION', '10000000001'],
  ['KAFKA_SSL', '1'],
  ['STRICT_READS', 'yes'],
  ['LIST_CACHE_BYTES', '64 MiB'],
  ['LOG_LEVEL', 'loud'],
  ['LOG_OWNER', 'yes'],
])('a wrong value is one line with its name, the value and what is expected: %s=%s', (name, value) => {
  const problems = problemsOf({ [name]: value });
  expect(problems).toHaveLength(1);
  const start = `${name} is ${JSON.stringify(value)}; expected `;
  expect(problems[0]!.slice(0, start.length)).toBe(start);
  expect(problems[0]!.length).toBeGreaterThan(start.length);
});

test.each([
  ['MONGODB_URI', 'postgres://plants:hunter2@db.test/store'],
  ['KAFKA_BROKERS', 'kafka://plants:hunter2@kafka.test'],
  ['KAFKA_BROKERS', 'kafka.test:9092,hunter2:65536'],
  ['JWKS_URL', 'https://plants:hunter2@issuer.test/jwks.json'],
  ['AUDIT_SIGNING_KEY', 'hunter2'],
  ['AUDIT_SIGNING_KEY', '{"kty":"OKP","crv":"Ed25519","d":"hunter2"}'],
  ['AUDIT_SIGNING_KEY', generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()],
])('a wrong value that may hold a credential is named and not repeated: %s', (name, value) => {
  const problems = problemsOf({ ...JWT, [name]: value });
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(new RegExp(`^${name} is invalid .*; expected .+$`));
  expect(problems[0]).not.toContain('hunter2');
});

test('the shares of MEMORY are no more than it, whatever lists take of it', () => {
  for (const lists of ['', '0', String(8 * MIB)]) {
    const { memory } = loadConfig({ MEMORY: String(32 * MIB), LIST_CACHE_BYTES: lists });
    const shares = Object.values(memory).reduce((sum, share) => sum + share);
    expect(shares).toBeLessThanOrEqual(32 * MIB);
    expect(memory.lists).toBe(lists === '0' ? 0 : 8 * MIB);
  }
  expect(problemsOf({ MEMORY: String(32 * MIB), LIST_CACHE_BYTES: String(8 * MIB + 1) })).toEqual([
    expect.stringMatching(/^LIST_CACHE_BYTES is "8388609"; expected at most 8388608, a quarter of MEMORY$/),
  ]);
});

test('the connections that a port takes fit the memory, unless a setting says how many', () => {
  const connectionsOf = (environment: NodeJS.ProcessEnv) => loadConfig(environment).limits.maxConnections;
  expect(connectionsOf({ MEMORY: String(32 * MIB) })).toBe(341);
  expect(connectionsOf({ MEMORY: String(1_000 * MIB) })).toBe(10_000);
  expect(connectionsOf({ MEMORY: String(32 * MIB), MAX_CONNECTIONS: '600' })).toBe(600);
});

test('a value with line breaks still gives one line', () => {
  expect(problemsOf({ LOG_LEVEL: 'info\nwarn' }).join()).not.toContain('\n');
});

test.each([
  [{ HOST: '"0.0.0.0"' }, 'HOST'],
  [{ AUTH_MODE: 'dev', HOST: '0.0.0.0' }, 'AUTH_MODE'],
  [{ HOST: ' a', ADMIN_HOST: ' b', PORT: '7000', ADMIN_PORT: '7000', ...JWT }, 'HOST', 'ADMIN_HOST'],
  [{ GRPC_TLS_CERT: '~/tls.crt', GRPC_TLS_KEY: 'tls.key' }, 'GRPC_TLS_CERT'],
  [{ GRPC_TLS_CERT: '~/tls.crt' }, 'GRPC_TLS_CERT', 'GRPC_TLS_KEY'],
  [{ WITNESSES: 'https://one.example', WITNESS_QUORUM: '1' }, 'WITNESSES'],
  [{ MEMORY: '8 GiB', LIST_CACHE_BYTES: String(2 ** 40) }, 'MEMORY'],
])('nothing is said that follows from a wrong value alone: %j', (environment, ...names) =>
  expect(problemsOf(environment).map((problem) => problem.split(' ', 1)[0])).toEqual(names),
);

test('all problems are told at once', () => {
  const problems = problemsOf({ PORT: 'a', LOG_LEVEL: 'b', JWT_ISSUER: 'c' });
  expect(problems.map((problem) => problem.split(' ', 1)[0])).toEqual([
    'PORT',
    'LOG_LEVEL',
    'JWKS_URL',
    'JWT_AUDIENCE',
  ]);
});

const SASL = { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'plants', KAFKA_SASL_PASSWORD: 'hunter2' };

test.each(
  [JWT, SASL].flatMap((together) => Object.entries(together).map(([name, value]) => [name, value, together] as const)),
)('%s does not go without the other two', (name, value, together) => {
  const others = Object.keys(together).filter((other) => other !== name);
  const problems = problemsOf({ [name]: value });
  expect(problems.map((problem) => problem.split(' ', 1)[0])).toEqual(others);
  expect(problems.join()).not.toContain('hunter2');
});

test.each([
  [{ GRPC_TLS_CERT: 'tls.crt' }, 'GRPC_TLS_KEY'],
  [{ GRPC_TLS_KEY: 'tls.key' }, 'GRPC_TLS_CERT'],
  [{ GRPC_TLS_CLIENT_CA: 'ca.crt' }, 'GRPC_TLS_CERT'],
  [{ GRPC_TLS_CERT: 'tls.crt', GRPC_TLS_CLIENT_CA: 'ca.crt' }, 'GRPC_TLS_KEY'],
])('TLS wants a certificate and its key: %o', (environment, missing) => {
  expect(problemsOf(environment)).toEqual([expect.stringMatching(new RegExp(`^${missing} is unset; `))]);
  expect(loadConfig({ GRPC_TLS_CERT: 'tls.crt', GRPC_TLS_KEY: 'tls.key' }).grpcTls).toEqual({
    certificate: resolve('tls.crt'),
    key: resolve('tls.key'),
  });
});

test.each([
  'http://127.0.0.1:9000/jwks',
  'http://127.9.9.9/',
  'http://localhost/jwks',
  'http://[::1]:1/',
  JWT.JWKS_URL,
])('keys may come from %s', (url) => expect(loadConfig({ ...JWT, JWKS_URL: url }).issuer?.jwksUrl.href).toBe(url));

test.each([
  'http://issuer.test/jwks',
  'http://127.0.0.1.test/',
  'http://localhost.test/',
  'file:///keys',
  'issuer.test',
])('keys may not come from %s', (url) => expect(problemsOf({ ...JWT, JWKS_URL: url })).toHaveLength(1));

test.each(['production', 'Production', 'PRODUCTION', 'prod', 'PROD'])(
  'development mode is refused where NODE_ENV is %s, unless it is meant',
  (NODE_ENV) => {
    expect(problemsOf({ NODE_ENV })).toEqual([
      expect.stringMatching(new RegExp(`^NODE_ENV is "${NODE_ENV}".*JWKS_URL.*AUTH_MODE=development`)),
    ]);
    expect(problemsOf({ NODE_ENV, ...JWT })).toEqual([]);
    expect(loadConfig({ NODE_ENV, AUTH_MODE: 'development' }).issuer).toBeUndefined();
  },
);

test.each(['0.0.0.0', '::', '10.0.0.7', '127.0.0.1.test', 'localhost.test', 'plants'])(
  'development mode is refused where others may reach HOST %s, unless it is meant',
  (HOST) => {
    expect(problemsOf({ HOST })).toEqual([expect.stringMatching(/^HOST is ".+JWKS_URL.*AUTH_MODE=development/)]);
    expect(problemsOf({ HOST, ...JWT })).toEqual([]);
    expect(loadConfig({ HOST, AUTH_MODE: 'development' }).issuer).toBeUndefined();
  },
);

test.each([
  { NODE_ENV: 'test' },
  { NODE_ENV: 'products' },
  { HOST: 'localhost' },
  { HOST: '::1' },
  { HOST: '127.1.2.3' },
])('development mode needs no word where nobody else is: %j', (environment) =>
  expect(loadConfig(environment).issuer).toBeUndefined(),
);

test('a command that accepts and issues no token needs no word for it', () => {
  const environment = { NODE_ENV: 'production', HOST: '0.0.0.0' };
  expect(() => loadConfig(environment)).toThrow('development mode is refused');
  expect(loadConfig(environment, { serves: false }).issuer).toBeUndefined();
});

test.each([
  ['MONGODB_URI', 'mongodb://db.test/plants'],
  ['HOST', 'localhost'],
  ['DATA_DIR', './data'],
  ['JWKS_URL', 'https://issuer.test/jwks.json'],
  ['JWT_ISSUER', 'https://issuer.test/'],
  ['JWT_AUDIENCE', 'plants'],
  ['JWT_OWNER_CLAIM', 'sub'],
  ['KAFKA_SASL_USERNAME', 'plantstore'],
  ['NODE_ENV', 'production'],
])('what an env file leaves around a text is told, and would be another text: %s', (name, value) => {
  const kafka = { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'me', KAFKA_SASL_PASSWORD: ' "a secret' };
  const environment = { ...JWT, ...kafka };
  expect(problemsOf({ ...environment, [name]: value })).toEqual([]);
  for (const meant of [`${value}\n`, `${value}\r`, ` ${value}`, `${value} `, `"${value}"`, `'${value}'`])
    expect(problemsOf({ ...environment, [name]: meant })).toEqual([
      expect.stringMatching(new RegExp(`^${name} is .* expected .*, without a line end, blanks or quotes around it$`)),
    ]);
});

test('a password may begin with anything, and has no line end', () => {
  const kafka = { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'me', KAFKA_SASL_PASSWORD: '" a' };
  expect(problemsOf(kafka)).toEqual([]);
  expect(problemsOf({ ...kafka, KAFKA_SASL_PASSWORD: 'a\n' })).toEqual([expect.stringMatching(/^KAFKA_SASL_PASSWORD/)]);
});

test('a port is opened once on a host', () => {
  const equal = { PORT: '7000', GRPC_PORT: '7000', ADMIN_PORT: '7000' };
  expect(problemsOf(equal)).toEqual([
    'GRPC_PORT is "7000", as PORT; expected another port',
    'ADMIN_PORT is "7000", as PORT; expected another port',
    'ADMIN_PORT is "7000", as GRPC_PORT; expected another port',
  ]);
  expect(problemsOf({ PORT: '7000', ADMIN_PORT: '7000', ADMIN_HOST: '127.0.0.2' })).toEqual([]);
  expect(problemsOf({ PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0' })).toEqual([]);
});

test('a heap without room for what is fixed is refused, and MEMORY leaves that room', () => {
  const problemsIn = (megabytes: number, MEMORY = '') => {
    const script = `
      const { loadConfig } = await import(${JSON.stringify(resolve('src/config.ts'))});
      try { console.log(loadConfig({ MEMORY: process.env.MEMORY }).memory.tail); } catch (error) { console.log(error.message); }`;
    const args = [
      `--max-old-space-size=${megabytes}`,
      '--max-semi-space-size=16',
      '--input-type=module',
      '--eval',
      script,
    ];
    return execFileSync(process.execPath, args, { env: { MEMORY }, encoding: 'utf8' }).trim();
  };
  expect(problemsIn(64)).toMatch(/^V8's heap limit is \d+; expected at least 142606336 \(--max-old-space-size\)$/);
  // Of 176 MiB, 72 are not fixed.
  expect(problemsIn(128)).toBe(String(27 * MIB));
  expect(problemsIn(128, String(72 * MIB))).toBe(String(27 * MIB));
  expect(problemsIn(128, String(72 * MIB + 1))).toMatch(/^MEMORY is "75497473"; expected at most 75497472, /);
});

test('a command on the store takes the MEMORY of a service whose heap is larger than its own', () => {
  const [MEMORY, LIST_CACHE_BYTES] = [String(2 ** 50), String(2 ** 40)];
  expect(() => loadConfig({ MEMORY })).toThrow("V8's heap limit");
  expect(() => loadConfig({ LIST_CACHE_BYTES })).toThrow('a quarter of MEMORY');
  for (const environment of [{ MEMORY }, { LIST_CACHE_BYTES }])
    expect(() => loadConfig(environment, { serves: false })).not.toThrow();
});

test('development mode is not meant beside an issuer', () => {
  expect(problemsOf({ AUTH_MODE: 'development', ...JWT })).toEqual([expect.stringMatching(/^AUTH_MODE is /)]);
});

test('an IPv6 address may have its brackets', () => {
  expect(loadConfig({ HOST: '[::1]', ADMIN_HOST: '[fe80::1]' })).toMatchObject({ host: '::1', adminHost: 'fe80::1' });
  expect(loadConfig({ ADVERTISE_ADDRESS: '[::1]:65535' }).advertiseAddress).toBe('[::1]:65535');
});

test('where others reach the API, the admin port stays on loopback', () => {
  expect(loadConfig({ HOST: '0.0.0.0', ...JWT }).adminHost).toBe('127.0.0.1');
});

test.each<[string, Record<string, string>, boolean]>([
  ['an endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.test:4318' }, true],
  ['an endpoint of traces', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector.test/v1/traces' }, true],
  ['an exporter', { OTEL_TRACES_EXPORTER: 'console' }, true],
  ['no exporter', { OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.test' }, false],
  ['the SDK disabled', { OTEL_SDK_DISABLED: 'TRUE', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.test' }, false],
  ['a name alone', { OTEL_SERVICE_NAME: 'plants' }, false],
])('traces by the variables of OpenTelemetry: %s', (_what, environment, on) => {
  expect(loadConfig(environment).tracing !== undefined).toBe(on);
});

test('traces have the name of the service unless the variables say another', () => {
  const nameOf = (environment: Record<string, string>) =>
    loadConfig({ OTEL_TRACES_EXPORTER: 'otlp', ...environment }).tracing?.serviceName;
  expect(nameOf({})).toBe('plantstore');
  expect(nameOf({ OTEL_SERVICE_NAME: 'plants' })).toBeUndefined();
  expect(nameOf({ OTEL_RESOURCE_ATTRIBUTES: 'a=b,service.name=plants' })).toBeUndefined();
});

test('a variable whose name is nearly that of a setting is named', () => {
  const near = {
    RATELIMIT: '5',
    MONGO_URI: '',
    JWT_AUDIENC: 'a',
    rate_limit: '5',
    PORTS: '1',
    NODEENV: 'test',
    PROT: '1',
  };
  const far = { HOME: '/', PWD: '/', PLANTS_PORT: '1', HOSTNAME: 'a', LOGNAME: 'a', KAFKA_PORT: '1', DEBUG: '*' };
  expect(misspeltSettings({ ...near, ...far, RATE_LIMIT: '5' })).toEqual([
    'RATELIMIT is no setting; did you mean RATE_LIMIT?',
    'MONGO_URI is no setting; did you mean MONGODB_URI?',
    'JWT_AUDIENC is no setting; did you mean JWT_AUDIENCE?',
    'rate_limit is no setting; did you mean RATE_LIMIT?',
    'PORTS is no setting; did you mean PORT?',
    'NODEENV is no setting; did you mean NODE_ENV?',
    'PROT is no setting; did you mean PORT?',
  ]);
});
