import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../../src/config.ts';
import { SETTINGS } from '../../../src/settings.ts';
import { lastStage, valuesOf } from '../../support/dockerfile.ts';
import { readSources } from '../../support/source.ts';

const IMAGE = lastStage('Dockerfile');
const ENVIRONMENT = Object.fromEntries(
  valuesOf(IMAGE, 'ENV').flatMap((value) => value.split(' ').map((one) => one.split('='))),
);
const COMMAND: string[] = JSON.parse(valuesOf(IMAGE, 'CMD')[0]!);
const HEALTH_COMMAND: string[] = JSON.parse(/CMD (\[.*\])$/.exec(valuesOf(IMAGE, 'HEALTHCHECK')[0]!)![1]!);

interface ComposeService {
  readonly environment: Readonly<Record<string, string>>;
  readonly healthcheck: { readonly test: readonly string[] };
  readonly [key: string]: unknown;
}
const COMPOSE = readFileSync('docker-compose.yml', 'utf8');
const compose: {
  services: Record<string, ComposeService>;
  configs: Record<string, { content?: string; file?: string }>;
} = parse(COMPOSE, { merge: true });
const PLANTSTORE = compose.services.plantstore!;

/** A directory with what the image has, but for its production dependencies, which are those of this folder. */
let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'plantstore-image-'));
  for (const value of valuesOf(IMAGE, 'COPY').filter((copied) => !copied.startsWith('--from'))) {
    const [to, ...sources] = value.split(' ').reverse() as [string, ...string[]];
    for (const source of sources) cpSync(source, join(root, to, to === './' ? source : ''), { recursive: true });
  }
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
  mkdirSync(join(root, 'data'));
});
afterAll(() => rmSync(root, { recursive: true }));

/** Runs a command of the image, with Node for `node`. */
function start([program, ...args]: readonly string[], environment: Readonly<Record<string, string>>) {
  expect(program).toBe('node');
  const env = { ...ENVIRONMENT, ...environment };
  return spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
}

const exitCode = async (child: ReturnType<typeof start>) =>
  (
    await once(
      child.on('error', () => {}),
      'exit',
    )
  )[0];

test('what the image copies is all that the service needs; its checks tell whether it serves; it ends on the stop signal', async () => {
  const ports = { PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0', HOST: '127.0.0.1', ADMIN_HOST: '127.0.0.1' };
  const service = start(COMMAND, {
    ...ports,
    AUTH_MODE: PLANTSTORE.environment.AUTH_MODE!,
    DATA_DIR: join(root, 'data'),
  });
  const ended = exitCode(service);
  let port = '';
  for await (const line of createInterface({ input: service.stdout })) {
    if (line.includes('"protocol":"admin"')) port = /127\.0\.0\.1:(\d+)/.exec(line)![1]!;
    if (line.includes('"protocol":"grpc"')) break;
  }
  service.stdout.resume();
  expect(await exitCode(start(HEALTH_COMMAND, { ADMIN_PORT: port }))).toBe(0);
  const [kind, ...composeCheck] = PLANTSTORE.healthcheck.test;
  expect(kind).toBe('CMD');
  const ready = composeCheck.map((part) => part.replace(':9464', `:${port}`));
  expect(await exitCode(start(ready, {}))).toBe(0);
  service.kill(valuesOf(IMAGE, 'STOPSIGNAL')[0] as NodeJS.Signals);
  expect(await ended).toBe(0);
  expect(await exitCode(start(HEALTH_COMMAND, { ADMIN_PORT: port }))).toBe(1);
  expect(await exitCode(start(ready, {}))).toBe(1);
});

test('the image refuses development mode, listens for others, and runs as nobody in particular', () => {
  expect(ENVIRONMENT).toEqual({
    NODE_ENV: 'production',
    HOST: '0.0.0.0',
    ADMIN_HOST: '0.0.0.0',
    DATA_DIR: valuesOf(IMAGE, 'VOLUME')[0],
    MALLOC_ARENA_MAX: '2',
    MALLOC_TRIM_THRESHOLD_: '131072',
  });
  expect(() => loadConfig(ENVIRONMENT)).toThrow(/^NODE_ENV is "production".*\nHOST is "0\.0\.0\.0"/);
  expect(valuesOf(IMAGE, 'USER')).toEqual(['1000:1000']);
  expect(valuesOf(IMAGE, 'EXPOSE')).toEqual(['8080 50051 9464']);
});

test('the build context has what the Dockerfile copies, and nothing else', () => {
  const context = readFileSync('.dockerignore', 'utf8')
    .matchAll(/^!(.+)$/gm)
    .map(([, name]) => name!.split('/')[0]!);
  const copied = readFileSync('Dockerfile', 'utf8')
    .matchAll(/^COPY (?!--from)(.+) \S+$/gm)
    .flatMap(([, sources]) => sources!.split(' '))
    .map((source) => source.split('/')[0]!);
  expect(new Set(context)).toEqual(new Set(copied));
});

test('its help has every setting, which it reads from the documentation', async () => {
  const program = start([...COMMAND, '--help'], {});
  const help = await text(program.stdout!);
  expect(Object.keys(SETTINGS).filter((name) => !help.includes(`\n  ${name} `))).toEqual([]);
});

test('what the sources import is there in production', () => {
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  // The console's bundle has what is the browser's alone.
  const imported = readSources()
    .filter(({ path }) => !path.endsWith('.browser.ts'))
    .flatMap(({ parsed: { module } }) => module.staticImports.map((found) => found.moduleRequest.value))
    .filter((specifier) => !/^(\.|node:)/.test(specifier))
    .map((specifier) => /^(@[^/]+\/)?[^/]+/.exec(specifier)![0]);
  expect(imported).toContain('fastify');
  expect(imported.filter((name) => !(name in dependencies))).toEqual([]);
});

test('docker compose runs the service with settings that there are, and with no more rights than it needs', () => {
  const instances = Object.entries(compose.services).filter(([name]) => name.startsWith('plantstore'));
  expect(instances).toHaveLength(3);
  const port = (name: 'PORT' | 'GRPC_PORT' | 'ADMIN_PORT') => SETTINGS[name].fallback;
  for (const [name, instance] of instances) {
    const others = Object.keys(instance.environment).filter((variable) => !(variable in SETTINGS));
    expect(others).toEqual(['NODE_OPTIONS', 'OTEL_EXPORTER_OTLP_ENDPOINT']);
    expect(instance.environment.ADVERTISE_ADDRESS).toBe(`${name}:${port('GRPC_PORT')}`);
    expect(instance).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
    expect(instance.ports).toEqual([expect.stringMatching(new RegExp(`^127\\.0\\.0\\.1:\\d+:${port('ADMIN_PORT')}$`))]);
  }
  expect(compose.services.balancer!.ports).toEqual(
    ['PORT', 'GRPC_PORT'].map((name) => `127.0.0.1:${port(name as 'PORT')}:${port(name as 'PORT')}`),
  );
});

test('docker compose bounds the memory of each container, and says how much that is in all', () => {
  const gibibytes = (services: readonly ComposeService[]) => {
    const sizes = services.map(({ mem_limit }) => Number(/^(\d+)m$/.exec(String(mem_limit))![1]));
    return (sizes.reduce((sum, size) => sum + size) / 1024).toFixed(1);
  };
  const services = Object.values(compose.services);
  const always = services.filter(({ profiles }) => profiles === undefined);
  const said = /It takes at most ([\d.]+) GiB of memory, or ([\d.]+) GiB/.exec(COMPOSE)!;
  expect(said.slice(1)).toEqual([gibibytes(always), gibibytes(services)]);
});

test('docker compose has Prometheus scrape every instance under the job that the alerts expect', () => {
  const { scrape_configs: jobs } = parse(compose.configs.prometheus!.content!);
  const instances = Object.keys(compose.services).filter((name) => name.startsWith('plantstore'));
  const targets = instances.map((name) => `${name}:${SETTINGS.ADMIN_PORT.fallback}`);
  expect(jobs).toEqual([{ job_name: 'plantstore', static_configs: [{ targets }] }]);
  for (const { file } of Object.values(compose.configs)) expect(file === undefined || existsSync(file)).toBe(true);
});
