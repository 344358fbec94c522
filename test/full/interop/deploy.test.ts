import { generateKeyPairSync } from 'node:crypto';
import { globSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '../../../src/config.ts';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { SETTINGS } from '../../../src/settings.ts';
import { lastStage, valuesOf } from '../../support/dockerfile.ts';
import { added, append } from '../../support/events.ts';
import { findPython } from '../../support/python.ts';
import { run } from '../../support/run.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** With the JSON schemas of Kubernetes and of Docker Compose. */
const python = await findPython(['kubernetes-validate==1.37.0', 'check-jsonschema==0.39.0']);

const COMPOSE = 'docker-compose.yml';
const KUSTOMIZATION = 'deploy/kubernetes/kustomization.yaml';
const MANIFESTS = globSync('deploy/kubernetes/*.yaml')
  .filter((path) => path !== KUSTOMIZATION)
  .sort();
const SERVICE_MONITOR = 'deploy/kubernetes/service-monitor.yaml';
/** Applied by name, when it is needed. */
const OPTIONAL = [SERVICE_MONITOR, 'deploy/kubernetes/upgrade.yaml'];

const validate = (...files: string[]) =>
  run(python!, ['-m', 'kubernetes_validate', '--strict', '--quiet', ...files], { PATH: process.env.PATH! });

describe.skipIf(python === undefined)("Docker Compose's schema", () => {
  test('takes the compose file', async () => {
    const check = ['-m', 'check_jsonschema', '--builtin-schema', 'vendor.compose-spec', COMPOSE];
    expect(await run(python!, check)).toMatchObject({ code: 0 });
  });
});

test('the compose file has every configuration that a service of it names', () => {
  const { services, configs } = parse(readFileSync(COMPOSE, 'utf8'), { merge: true });
  const named = Object.values<{ configs?: { source: string }[] }>(services).flatMap((one) => one.configs ?? []);
  expect(Object.keys(configs)).toEqual(expect.arrayContaining(named.map(({ source }) => source)));
});

describe.skipIf(python === undefined)("Kubernetes' schemas", () => {
  test('take the manifests', async () => {
    const core = MANIFESTS.filter((path) => path !== SERVICE_MONITOR);
    const { code, stdout, stderr } = await validate(...core);
    expect(code, stdout + stderr).toBe(0);
  });
});

describe('the manifests', () => {
  // biome-ignore lint/suspicious/noExplicitAny: their shape was checked above
  const all: any[] = MANIFESTS.flatMap((path) =>
    parseAllDocuments(readFileSync(path, 'utf8')).map((doc) => doc.toJS()),
  );
  const the = (kind: string, name = 'plantstore') => all.find((one) => one.kind === kind && one.metadata.name === name);
  const instances = the('StatefulSet').spec;
  const pod = instances.template;
  const [container] = pod.spec.containers;
  const settings = the('ConfigMap').data;
  const ports = Object.fromEntries(
    container.ports.map(({ name, containerPort }: { name: string; containerPort: number }) => [name, containerPort]),
  );

  test('begin no container with a process that signals do not reach', () => {
    const { services } = parse(readFileSync(COMPOSE, 'utf8'), { merge: true });
    expect(services.plantstore.init).toBe(true);
    const pods = [
      pod,
      the('Job', 'plantstore-upgrade').spec.template,
      the('CronJob', 'plantstore-verify').spec.jobTemplate.spec.template,
    ];
    expect(pods.map(({ spec }) => spec.shareProcessNamespace)).toEqual([true, true, true]);
  });

  test('set what the service takes, and secrets by reference alone', () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const secrets: Record<string, string> = {
      MONGODB_URI: 'mongodb://mongo/?replicaSet=rs0',
      AUDIT_SIGNING_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    };
    const image = Object.fromEntries(
      valuesOf(lastStage('Dockerfile'), 'ENV').flatMap((value) => value.split(' ').map((one) => one.split('='))),
    );
    const given: { name: string; value?: string; valueFrom?: { secretKeyRef?: object } }[] = container.env;
    const referred = given.filter(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined).map(({ name }) => name);
    expect(referred).toEqual(Object.keys(secrets));
    // A JWKS_URL is secret only where it has a password in it.
    const hasSecret = ([name, { isSecret }]: [string, { isSecret: boolean }]) => isSecret && name !== 'JWKS_URL';
    for (const [name] of Object.entries(SETTINGS).filter(hasSecret)) {
      expect(Object.keys(settings)).not.toContain(name);
      expect(given.find((one) => one.name === name) ?? {}).not.toHaveProperty('value');
    }
    const address = given.find(({ name }) => name === 'ADVERTISE_ADDRESS')!.value!.replace('$(POD_IP)', '10.1.2.3');
    const config = loadConfig({ ...image, ...settings, ...secrets, ADVERTISE_ADDRESS: address });
    expect(config.issuer).toMatchObject({ audience: settings.JWT_AUDIENCE });
    const known = (name: string) => name in SETTINGS || ['NODE_OPTIONS', 'POD_IP'].includes(name);
    expect([...Object.keys(settings), ...given.map(({ name }) => name)].filter((name) => !known(name))).toEqual([]);
  });

  test('run the image of this release on its ports, with no right that it does not need', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(container.image).toBe(`plantstore:${version}`);
    expect(ports).toEqual({
      http: Number(SETTINGS.PORT.fallback),
      grpc: Number(SETTINGS.GRPC_PORT.fallback),
      admin: Number(SETTINGS.ADMIN_PORT.fallback),
    });
    expect(pod.spec).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  test('are all in the kustomization, with the image of this release', () => {
    const { resources, images } = parseAllDocuments(readFileSync(KUSTOMIZATION, 'utf8'))[0]!.toJS();
    expect(resources.map((name: string) => `deploy/kubernetes/${name}`)).toEqual(
      MANIFESTS.filter((path) => !OPTIONAL.includes(path)),
    );
    expect(container.image).toBe(`${images[0].name}:${images[0].newTag}`);
  });

  test('verify the log with the settings and the rights of an instance, out of reach of its Services', () => {
    const { template } = the('CronJob', 'plantstore-verify').spec.jobTemplate.spec;
    const [verify] = template.spec.containers;
    expect(verify.command).toEqual(['node', 'bin/plantstore.js', 'audit', 'verify']);
    for (const name of ['image', 'envFrom', 'securityContext', 'volumeMounts'])
      expect(verify[name]).toEqual(container[name]);
    // It answers nobody.
    const { sysctls: _, ...rights } = pod.spec.securityContext;
    expect(template.spec.securityContext).toEqual(rights);
    expect(template.metadata.labels).not.toMatchObject(the('Service').spec.selector);
  });

  test('upgrade a database with the image and the rights of an instance, out of reach of its Services', () => {
    const { template } = the('Job', 'plantstore-upgrade').spec;
    const [upgrade] = template.spec.containers;
    expect(upgrade.command).toEqual(['node', 'bin/plantstore.js', 'upgrade']);
    for (const name of ['image', 'securityContext', 'resources']) expect(upgrade[name]).toEqual(container[name]);
    for (const env of upgrade.env.filter(({ valueFrom }: { valueFrom?: object }) => valueFrom))
      expect(container.env).toContainEqual(env);
    expect(template.metadata.labels).not.toMatchObject(the('Service').spec.selector);
  });

  test('keep what an instance has signed on a volume that outlives its pod', () => {
    const [{ name }] = instances.volumeClaimTemplates.map(({ metadata }: { metadata: object }) => metadata);
    const { mountPath } = container.volumeMounts.find((mount: { name: string }) => mount.name === name);
    expect(settings.DATA_DIR.startsWith(`${mountPath}/`)).toBe(true);
    expect(pod.spec.volumes.map((volume: { name: string }) => volume.name)).not.toContain(name);
    // A StatefulSet needs a Service without an address of its own.
    expect(the('Service', instances.serviceName).spec.clusterIP).toBe('None');
  });

  test('give an instance the memory that its connections take when nobody reads', () => {
    const [{ name, value }] = pod.spec.securityContext.sysctls;
    expect(name).toBe('net.ipv4.tcp_wmem');
    const ofKernel = 1.5 * Number(value.split(' ')[2]);
    const heap = Number(/--max-old-space-size=(\d+)/.exec(settings.NODE_OPTIONS)![1]);
    const { maxConnections } = loadConfig({ AUTH_MODE: 'development', MEMORY: String((heap / 2) * 2 ** 20) }).limits;
    // docs/operations.md has how the first one was measured.
    const mostOfProcess = 527 * 2 ** 20;
    expect(container.resources.limits.memory).toBe('1Gi');
    expect(mostOfProcess + 2 * maxConnections * ofKernel).toBeLessThan(2 ** 30);
  });

  test('leave an instance the time that it drains', () => {
    expect(pod.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(Number(settings.DRAIN_GRACE) + 28);
  });

  test('select what they are about', () => {
    const { labels } = pod.metadata;
    for (const selector of [
      instances.selector.matchLabels,
      the('PodDisruptionBudget').spec.selector.matchLabels,
      the('NetworkPolicy').spec.podSelector.matchLabels,
      the('Service').spec.selector,
      the('Service', 'plantstore-admin').spec.selector,
    ])
      expect(labels).toMatchObject(selector);
    const monitor = the('ServiceMonitor').spec;
    const scraped = the('Service', 'plantstore-admin');
    expect(scraped.metadata.labels).toMatchObject(monitor.selector.matchLabels);
    expect(the('Service').metadata.labels).not.toMatchObject(monitor.selector.matchLabels);
    expect(scraped.spec.ports.map(({ name }: { name: string }) => name)).toEqual([monitor.endpoints[0].port]);
    // The alerts expect it.
    expect(scraped.metadata.labels[monitor.jobLabel]).toBe('plantstore');
  });

  test('let the instances reach each other, both ways, and nobody but Prometheus the admin port', () => {
    const { ingress, egress } = the('NetworkPolicy').spec;
    const others = [{ podSelector: { matchLabels: pod.metadata.labels } }];
    expect(ingress).toContainEqual({ from: others, ports: [{ port: 'grpc' }] });
    expect(egress).toContainEqual({ to: others, ports: [{ port: ports.grpc }] });
    const admin = ingress.filter((rule: { ports: { port: string }[] }) =>
      rule.ports.some(({ port }) => port === 'admin'),
    );
    expect(admin).toEqual([
      {
        from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
        ports: [{ port: 'admin' }],
      },
    ]);
  });
});

describe('the units of systemd', () => {
  const UNITS = globSync('deploy/systemd/*.service');
  /** What Node, glibc and the shell take. */
  const OF_OTHERS = new Set(['NODE_OPTIONS', 'MALLOC_ARENA_MAX', 'MALLOC_TRIM_THRESHOLD_', 'PATH']);
  /** The values of a directive. */
  const named = (path: string, name: string) =>
    readFileSync(path, 'utf8')
      .matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))
      .map(([, value]) => value!)
      .toArray();

  test('set what the service takes', () => {
    expect(UNITS).toHaveLength(3);
    for (const path of UNITS) {
      const names = named(path, 'Environment').flatMap((line) =>
        [...line.matchAll(/\b([A-Z_]+)=/g)].map(([, one]) => one!),
      );
      expect(names.filter((name) => !(name in SETTINGS) && !OF_OTHERS.has(name))).toEqual([]);
      expect(names).toContain('DATA_DIR');
    }
  });

  test.each(UNITS)('confine their program: %s', (path) => {
    const confined = {
      CapabilityBoundingSet: '',
      NoNewPrivileges: 'yes',
      PrivateDevices: 'yes',
      ProtectSystem: 'strict',
      RestrictNamespaces: 'yes',
      // Two families for callers, one for sockets of the machine, and one by which Node reads the machine's addresses.
      RestrictAddressFamilies: 'AF_UNIX AF_INET AF_INET6 AF_NETLINK',
      SystemCallFilter: '@system-service',
      UMask: '0077',
    };
    for (const [name, value] of Object.entries(confined)) expect([name, ...named(path, name)]).toEqual([name, value]);
  });

  test.each([
    ['plantstore-verify.service', /audit verify$/],
    ['plantstore-backup.service', /audit checkpoint > .*audit key > .*backup/],
  ])('run a command of this release: %s', (name, command) => {
    expect(named(`deploy/systemd/${name}`, 'ExecStart').join('\n')).toMatch(command);
    expect(named(`deploy/systemd/${name.replace('.service', '.timer')}`, 'OnCalendar')).toHaveLength(1);
  });

  test.each([
    ['signed', 0, ['.checkpoint', '.sqlite', '.vkey']],
    ['a folder', 1, ['.sqlite', '.vkey']],
  ])('back up beside a last checkpoint that is %s', async (last, code, made) => {
    const [data, backups] = [temporaryDirectory(onTestFinished), temporaryDirectory(onTestFinished)];
    const env = { DATA_DIR: data, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
    const store = openSqlite(data);
    await append(store, added('alice', 1n));
    await store.close();
    if (last === 'a folder') mkdirSync(join(data, 'last-checkpoint.txt'));
    const [line] = named('deploy/systemd/plantstore-backup.service', 'ExecStart');
    const script = /^\/bin\/sh -uc '(.*)'$/
      .exec(line!)![1]!
      .replaceAll('$$', '$')
      .replaceAll('%%', '%')
      .replace('/opt/plantstore', process.cwd())
      .replaceAll('/var/backups/plantstore', backups);
    const old = join(backups, 'of-a-month-ago.sqlite');
    writeFileSync(old, '');
    utimesSync(old, 0, 0);
    expect(await run('/bin/sh', ['-uc', script], env)).toMatchObject({ code });
    expect(readdirSync(backups).map(extname).sort()).toEqual(made);
  });
});
