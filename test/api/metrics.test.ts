import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { forwardMetrics } from '../../src/observe/metrics/counts.ts';
import { Metrics } from '../../src/observe/metrics/metrics.ts';
import { cosigner } from '../../src/tlog/signer.ts';
import { formatVerifierKey } from '../../src/tlog/verifier-key.ts';
import { Issuer } from '../support/issuer.ts';
import { type Family, parseMetrics } from '../support/prometheus.ts';
import { selectorsOf } from '../support/promql.ts';
import { type Service, startService } from '../support/service.ts';
import { sendTraffic } from '../support/traffic.ts';

/** What Prometheus itself adds to a scrape. */
const OF_PROMETHEUS = new Set(['up']);
const TARGET_LABELS = new Set(['job', 'instance']);

let service: Service;
let issuer: Issuer;
let families: Map<string, Family>;

beforeAll(async () => {
  issuer = await Issuer.start();
  service = await startService({
    JWKS_URL: issuer.jwksUrl.href,
    JWT_ISSUER: issuer.issuer,
    JWT_AUDIENCE: issuer.audience,
    // Nobody listens there.
    WITNESSES: `http://127.0.0.1:1=${formatVerifierKey(cosigner('away.example', generateKeyPairSync('ed25519').privateKey).key)}`,
  });
  await sendTraffic(service, issuer.token());
  // What is told of once it has happened.
  do families = await scrape();
  while (
    ['plantstore_witness_requests_total', 'nodejs_gc_duration_seconds'].some((name) => samples(name).length === 0)
  );
});

afterAll(async () => {
  await service?.stop();
  await issuer?.stop();
});

async function scrape(): Promise<Map<string, Family>> {
  const response = await fetch(`${service.adminUrl}/metrics`);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return parseMetrics(await response.text());
}

const samples = (name: string) => families.get(name)?.samples ?? [];

/** `GET /plants 200` and so on, of one protocol. */
const requestsOf = (protocol: string) =>
  samples('plantstore_request_duration_seconds')
    .filter(({ name, labels }) => name.endsWith('_count') && labels.protocol === protocol)
    .map(({ labels: { method, route, status }, value }) => [`${method} ${route} ${status}`, value]);

const value = (name: string, labels = {}) =>
  samples(name)
    .filter((sample) => Object.entries(labels).every(([label, wanted]) => sample.labels[label] === wanted))
    .map((sample) => sample.value);

test('requests are counted by protocol, template and status, and never by what a client made up', () => {
  expect(Object.fromEntries(requestsOf('rest'))).toEqual({
    'POST /plants 200': 1,
    'POST /plants 400': 1,
    'GET /plants 200': 1,
    'DELETE /plants/{id} 204': 1,
    'GET /plants 401': 1,
    'GET unmatched 404': 1,
    'GET unmatched 400': 1,
  });
  const method = (name: string) => `POST /plantstore.v1.PlantStoreService/${name}`;
  expect(Object.fromEntries(requestsOf('connect'))).toEqual({
    [`${method('ListPlants')} OK`]: 1,
    [`${method('DeletePlant')} NOT_FOUND`]: 1,
    [`${method('DeletePlant')} INVALID_ARGUMENT`]: 1,
  });
  expect(Object.fromEntries(requestsOf('grpc_web'))).toEqual({
    [`${method('ListPlants')} OK`]: 1,
    [`${method('DeletePlant')} NOT_FOUND`]: 1,
  });
  expect(Object.fromEntries(requestsOf('grpc'))).toEqual({
    [`${method('CreatePlant')} OK`]: 1,
    [`${method('DeletePlant')} NOT_FOUND`]: 1,
    'POST unmatched UNIMPLEMENTED': 2,
  });
});

test('methods that nobody serves are one', async () => {
  for (const method of ['PROPFIND', 'MKCOL', 'REPORT']) await (await fetch(`${service.url}/plants`, { method })).text();
  const counted = (await scrape())
    .get('plantstore_request_duration_seconds')!
    .samples.filter(({ name, labels }) => name.endsWith('_count') && labels.status === '405');
  expect(counted.map(({ labels, value: count }) => [labels.method, count])).toEqual([['_OTHER', 3]]);
});

test('a stream of changes is a route of its own, and so in no time of a list', async () => {
  const headers = { authorization: `Bearer ${issuer.token()}`, accept: 'text/event-stream' };
  await (await fetch(`${service.url}/plants?limit=1`, { headers })).text();
  await (await fetch(`${service.url}/plants`, { headers })).body!.cancel();
  const counted = async () =>
    (await scrape())
      .get('plantstore_request_duration_seconds')!
      .samples.filter(({ name, labels }) => name.endsWith('_count') && labels.route === '/plants (watch)')
      .map(({ labels, value: count }) => [labels.method, labels.status, count]);
  await expect.poll(counted).toEqual([
    ['GET', '400', 1],
    ['GET', '499', 1],
  ]);
  const { expr } = groups.flatMap(({ rules }) => rules).find(({ alert }) => alert === 'PlantstoreSlow')!;
  const routes = new RegExp(`^(${/route=~"([^"]+)"/.exec(expr)![1]})$`);
  const asked = ['/plants', '/plants/{id}', '/plantstore.v1.PlantStoreService/ListPlants', '/plants (watch)'];
  expect(asked.filter((route) => routes.test(route))).toEqual(asked.slice(0, 3));
});

test('commits, refusals, positions, tokens and keys are told', () => {
  expect(value('plantstore_log_head_position')).toEqual([3]);
  expect(samples('plantstore_commit_batch_events').find(({ name }) => name.endsWith('_sum'))?.value).toBe(3);
  expect(value('plantstore_commands_refused_total', { reason: 'PLANT_ALREADY_EXISTS' })).toEqual([1]);
  expect(value('plantstore_commands_refused_total', { reason: 'PLANT_NOT_FOUND' })).toEqual([3]);
  expect(value('plantstore_commands_pending')).toEqual([0]);
  expect(value('plantstore_store_reachable')).toEqual([1]);
  expect(value('plantstore_authentication_decisions_total', { outcome: 'accepted' })).toEqual([1]);
  expect(value('plantstore_authentication_decisions_total', { reason: 'malformed' })).toEqual([1]);
  expect(value('plantstore_token_cache_hits_total')[0]).toBeGreaterThan(5);
  expect(value('plantstore_jwks_fetches_total', { outcome: 'success' })).toEqual([1]);
  for (const age of ['plantstore_jwks_fetched_age_seconds', 'plantstore_follower_synced_age_seconds']) {
    expect(value(age)[0], age).toBeGreaterThanOrEqual(0);
    expect(value(age)[0], age).toBeLessThan(120);
  }
});

test('remembered lists, admission and publication are told', () => {
  expect(value('plantstore_list_cache_hits_total')[0]! + value('plantstore_list_cache_misses_total')[0]!).toBe(3);
  expect(value('plantstore_list_cache_entries')[0]).toBeGreaterThan(0);
  expect(value('plantstore_list_cache_bytes')[0]).toBeGreaterThan(0);
  expect(value('plantstore_requests_in_flight')).toEqual([0]);
  expect(value('plantstore_requests_waiting')).toEqual([0]);
  // What was read last on a connection over HTTP/2 may belong to headers without an end.
  expect(value('plantstore_requests_held_bytes')[0]).toBeLessThan(4_096);
  expect(value('plantstore_requests_shed_total')).toEqual(Array(16).fill(0));
  expect([...families.keys()]).toContain('plantstore_publisher_lag_seconds');
  expect(value('plantstore_publisher_lag_seconds')).toEqual([]);
});

test('what a witness says about the log is counted from 0, so that the first time is an increase', () => {
  for (const outcome of ['ahead', 'forked'])
    expect(value('plantstore_witness_requests_total', { witness: 'away.example', outcome })).toEqual([0]);
});

test('all who read how long the event loop worked get the same of it', async () => {
  const metrics = new Metrics();
  const readers = [
    async () => Number(/^nodejs_eventloop_active_seconds_total (\S+)$/m.exec((await metrics.scrape()).text)![1]),
    async () => (await metrics.values()).nodejs_eventloop_active_seconds_total!,
  ];
  const before = await Promise.all(readers.map((read) => read()));
  const end = performance.now() + 200;
  while (performance.now() < end);
  for (const [index, read] of [...readers, ...readers].entries())
    expect((await read()) - before[index % 2]!).toBeGreaterThan(0.15);
  expect((await metrics.scrape()).text).not.toContain('eventloop_lag');
});

test('the time of a forwarded command is one to the answer of the writer, which not every command gets', async () => {
  const metrics = new Metrics();
  const reasons: string[] = [];
  const told = forwardMetrics(metrics, (reason) => reasons.push(reason));
  told.forwarded('applied', 0.5);
  told.forwarded('refused', 0.25, 'OVERLOADED');
  // This instance refused it, or the link ended.
  told.forwarded('refused', undefined, 'OVERLOADED');
  told.forwarded('lost');
  const { text } = await metrics.scrape();
  expect(text).toContain('plantstore_forward_duration_seconds_sum 0.75\nplantstore_forward_duration_seconds_count 2\n');
  expect(text).toContain('plantstore_commands_forwarded_total{outcome="refused"} 2\n');
  expect(reasons).toEqual(['OVERLOADED', 'OVERLOADED']);
});

test('names say the unit, and the kind of a count', () => {
  for (const [name, { type, help }] of families) {
    expect(help).toMatch(/\w/);
    if (!name.startsWith('plantstore_')) continue;
    expect(name.endsWith('_total')).toBe(type === 'counter');
    expect(name).not.toMatch(/(milliseconds|_ms|minutes|kilobytes|_mb|_count|_sum|_bucket)(_|$)/);
  }
});

interface Panel {
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly w: number };
  readonly targets?: readonly { readonly expr: string }[];
}
const dashboard: { panels: Panel[] } = JSON.parse(readFileSync('docs/grafana-dashboard.json', 'utf8'));
const { groups } = parse(readFileSync('docs/alerts.yaml', 'utf8')) as {
  groups: { rules: { alert: string; expr: string; labels: object; annotations: object }[] }[];
};

const panels = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => [`panel ${title}`, expr.replaceAll('$__rate_interval', '5m')] as const),
);
const alerts = groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [`alert ${alert}`, expr] as const));

test.each([...panels, ...alerts])('%s asks for series that there are', (_name, expression) => {
  const asked = selectorsOf(expression);
  expect(asked.length).toBeGreaterThan(0);
  // A family that has no sample, such as the lag of a publisher that is off, has its name all the same.
  const known = new Map([...families.keys()].map((name) => [name, new Set(TARGET_LABELS)]));
  for (const family of families.values())
    for (const { name, labels } of family.samples)
      known.set(name, new Set([...(known.get(name) ?? TARGET_LABELS), ...Object.keys(labels)]));
  for (const { metric, labels } of asked.filter((one) => !OF_PROMETHEUS.has(one.metric))) {
    expect([...known.keys()]).toContain(metric);
    expect(labels.filter((label) => !known.get(metric)!.has(label))).toEqual([]);
  }
});

test('every alert says who is to look and what it means', () => {
  for (const { rules } of groups)
    for (const { labels, annotations } of rules) {
      expect(labels).toMatchObject({ severity: expect.stringMatching(/^(page|ticket)$/) });
      expect(annotations).toMatchObject({ summary: expect.any(String), description: expect.any(String) });
    }
});
