import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { cosigner } from '../../../src/tlog/signer.ts';
import { formatVerifierKey } from '../../../src/tlog/verifier-key.ts';
import { Issuer } from '../../support/issuer.ts';
import { type Family, parseMetrics } from '../../support/prometheus.ts';
import { selectorsOf } from '../../support/promql.ts';
import { findProgram } from '../../support/proxies.ts';
import { startService } from '../../support/service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { sendTraffic } from '../../support/traffic.ts';

const promtool = findProgram('promtool');
const directory = temporaryDirectory(afterAll);
const RULES = resolve('docs/alerts.yaml');
const ALERTS: { alert: string; expr: string }[] = parse(readFileSync(RULES, 'utf8')).groups[0].rules;
const ASKED = new Set(ALERTS.flatMap(({ expr }) => selectorsOf(expr).map(({ metric }) => metric)));

/** A series of an instance: its value at each minute from 0 on, in promtool's notation (start, step, minutes). */
interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly values: string;
}

const constant = (value: number) => `${value}+0x60`;
const growing = (step: number) => `0+${step}x60`;

/** What an instance does not tell without MongoDB, Kafka or TLS. Kept equal to its names by `families`. */
const ELSEWHERE = {
  plantstore_writer: 1,
  plantstore_forwarding: 0,
  plantstore_publisher_degraded: 0,
  plantstore_publisher_lag_seconds: 0,
  plantstore_grpc_certificate_expiry_timestamp_seconds: 30 * 86_400,
};

const REQUESTS = 'plantstore_request_duration_seconds';

let families: Map<string, Family>;
let healthy: Series[];

beforeAll(async () => {
  await using issuer = await Issuer.start();
  const { privateKey } = generateKeyPairSync('ed25519');
  const service = await startService({
    JWKS_URL: issuer.jwksUrl.href,
    JWT_ISSUER: issuer.issuer,
    JWT_AUDIENCE: issuer.audience,
    WITNESSES: `http://127.0.0.1:1=${formatVerifierKey(cosigner('away.example', privateKey).key)}`,
  });
  try {
    await sendTraffic(service, issuer.token());
    families = parseMetrics(await (await fetch(`${service.adminUrl}/metrics`)).text());
  } finally {
    await service.stop();
  }
  const told = [...families.values()].flatMap(({ type, samples }) =>
    samples.map(({ name, labels, value }) => {
      // promtool's clock begins at 0.
      if (name.endsWith('_timestamp_seconds')) return { name, labels, values: growing(60) };
      // However slow the machine of this test is.
      if (/_bucket$|_seconds_total$/.test(name)) return { name, labels, values: growing(1) };
      // As much again each minute.
      return { name, labels, values: type === 'gauge' ? constant(value) : growing(value) };
    }),
  );
  const elsewhere = Object.entries(ELSEWHERE).map(([name, value]) => ({ name, labels: {}, values: constant(value) }));
  const up = { name: 'up', labels: {}, values: constant(1) };
  healthy = [...told, ...elsewhere, up].filter(({ name }) => ASKED.has(name));
});

type Fault = (series: Series) => Series | undefined;

/** Other values of the series of this name, and of these labels if they are given. */
const having =
  (values: string, name: string, labels: Readonly<Record<string, string>> = {}): Fault =>
  (series) =>
    series.name === name && Object.entries(labels).every(([label, value]) => series.labels[label] === value)
      ? { ...series, values }
      : series;

const all =
  (...faults: Fault[]): Fault =>
  (series) =>
    faults.reduce<Series | undefined>((changed, fault) => changed && fault(changed), series);

/** The same requests with another answer. */
const failed = (series: Series): Series => ({ ...series, labels: { ...series.labels, status: '503' } });

/** For each alert, what a fault makes of the series of an instance that is well. */
const FAULTS: Readonly<Record<string, Fault>> = {
  PlantstoreInstanceDown: having(constant(0), 'up'),
  PlantstoreNotScraped: () => undefined,
  PlantstoreServerFaults: (series) => (series.labels.status === '400' ? failed(series) : series),
  PlantstoreSlow: (series) =>
    series.name === `${REQUESTS}_bucket` && series.labels.le !== '+Inf' ? { ...series, values: constant(0) } : series,
  PlantstoreStoreUnreachable: having(constant(0), 'plantstore_store_reachable'),
  PlantstoreLogNotFollowed: having(constant(60), 'plantstore_follower_synced_age_seconds'),
  PlantstoreCommandsRefused: having(growing(90), 'plantstore_commands_refused_total', { reason: 'OVERLOADED' }),
  PlantstoreCommandsFail: having(growing(2), 'plantstore_commands_refused_total', { reason: 'STORE_UNAVAILABLE' }),
  PlantstoreOutcomeUnknown: having('0x28 1x32', 'plantstore_commands_refused_total', { reason: 'OUTCOME_UNKNOWN' }),
  PlantstoreQueueGrows: having(constant(5_000), 'plantstore_commands_pending'),
  PlantstoreConflicts: all(
    having(growing(60), 'plantstore_commit_conflicts_total'),
    having(growing(100), 'plantstore_commit_duration_seconds_count'),
  ),
  PlantstoreNotForwarding: all(
    having(constant(0), 'plantstore_writer'),
    having(growing(100), 'plantstore_commit_duration_seconds_count'),
  ),
  PlantstoreProjectorBehind: having(constant(30_000), 'plantstore_projector_lag_events'),
  PlantstoreTailNearlyFull: having(constant(1e12), 'plantstore_tail_bytes'),
  PlantstoreNoKeys: having(constant(0), 'plantstore_jwks_ready'),
  PlantstoreKeysOld: having(constant(4_000), 'plantstore_jwks_fetched_age_seconds'),
  PlantstoreTokensRefused: (series) =>
    series.labels.reason === 'malformed'
      ? { ...series, labels: { outcome: 'refused', reason: 'signature' }, values: growing(90) }
      : series,
  PlantstoreCertificateEnds: having(constant(6 * 86_400), 'plantstore_grpc_certificate_expiry_timestamp_seconds'),
  PlantstoreEventLoopBusy: having(growing(59), 'nodejs_eventloop_active_seconds_total'),
  PlantstoreOpenFiles: having(constant(1e12), 'process_open_fds'),
  PlantstoreLogLinesDropped: having('0x28 1x32', 'plantstore_log_lines_dropped_total'),
  PlantstoreShedsLoad: having(growing(90), 'plantstore_requests_shed_total', { protocol: 'rest', reason: 'cpu' }),
  PlantstorePublisherBehind: having(constant(90), 'plantstore_publisher_lag_seconds'),
  PlantstorePublisherDegraded: having(constant(1), 'plantstore_publisher_degraded'),
  PlantstoreErasureStuck: having(constant(1_000), 'plantstore_erasure_oldest_seconds'),
  PlantstoreLogAhead: having(constant(100), 'plantstore_log_ahead_seconds'),
  PlantstoreNotCosigned: having(constant(400), 'plantstore_cosigned_checkpoint_age_seconds'),
  PlantstoreLogBroken: having(constant(1), 'plantstore_log_broken'),
  PlantstoreReadModelBroken: having(constant(1), 'plantstore_read_model_broken'),
  PlantstoreVerifySaysNo: having(constant(1), 'plantstore_verification_failed'),
  PlantstoreSigningStopped: having(constant(1), 'plantstore_signing_stopped'),
  PlantstoreLogForked: having('0x28 1x32', 'plantstore_witness_requests_total', { outcome: 'forked' }),
};

const STORE_UNAVAILABLE = { reason: 'STORE_UNAVAILABLE' };

/** What must fire the alerts of its value, beside the fault of each alert. */
const FURTHER: readonly [name: string, fault: Fault, firing: readonly string[]][] = [
  [
    'one write in two seconds, which fails, beside 100 reads a second',
    all(
      having(growing(30), 'plantstore_commands_refused_total', STORE_UNAVAILABLE),
      (series) => (series.labels.status === '400' ? having(growing(30), series.name)(failed(series)) : series),
      having(growing(6_000), `${REQUESTS}_count`, { protocol: 'rest', status: '200' }),
    ),
    ['PlantstoreCommandsFail'],
  ],
  [
    'commands that fail within a minute, while another server becomes the primary',
    having('0x24 20 40x33', 'plantstore_commands_refused_total', STORE_UNAVAILABLE),
    [],
  ],
  [
    'an owner who sends more than its share',
    having(growing(90), 'plantstore_requests_shed_total', { protocol: 'rest', reason: 'owner' }),
    [],
  ],
];

/** A test of promtool: half an hour of these series, and the alerts that fire then. */
function caseOf(name: string, series: readonly Series[], firing: readonly string[]): object {
  const expr = 'count by (alertname) (ALERTS{alertstate="firing"})';
  const samples = firing.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 }));
  return questionOf(name, series, expr, samples);
}

/** What an expression is after half an hour of these series, as promtool takes it. */
function questionOf(
  name: string,
  series: readonly Series[],
  expr: string,
  samples: readonly { readonly labels: string; readonly value: number }[],
): object {
  return {
    name,
    interval: '1m',
    input_series: series.map(({ name: metric, labels, values }) => {
      const all = { ...labels, job: 'plantstore', instance: 'one' };
      const text = Object.entries(all).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
      return { series: `${metric}{${text.join(',')}}`, values };
    }),
    promql_expr_test: [{ expr, eval_time: '30m', exp_samples: samples }],
  };
}

/** Lets promtool evaluate the rules. Resolves with what it says is not as expected. */
async function judged(cases: readonly object[]): Promise<string> {
  const file = join(directory, 'alerts.test.json');
  writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests: cases }));
  const { stdout, stderr } = await promisify(execFile)(promtool!, ['test', 'rules', file]).catch((error) => error);
  return `${stdout}${stderr}`.replaceAll(/Unit Testing: .*|SUCCESS/g, '').trim();
}

test.runIf(promtool)('Prometheus fires each alert on its fault, and none on an instance that is well', async () => {
  expect(Object.keys(FAULTS)).toEqual(ALERTS.map(({ alert }) => alert));
  expect([...families.keys()]).toEqual(expect.arrayContaining(Object.keys(ELSEWHERE)));
  const each = Object.entries(FAULTS).map(([alert, fault]) => [alert, fault, [alert]] as const);
  const faults = [...each, ...FURTHER].map(([name, fault, firing]) =>
    caseOf(
      name,
      healthy.map(fault).filter((series) => series !== undefined),
      firing,
    ),
  );
  expect(await judged([caseOf('well', healthy, []), ...faults])).toBe('');
});

test.runIf(promtool)('the dashboard says that the share of faults is 0, where none has happened', async () => {
  const { panels }: { panels: { title: string; targets?: { expr: string }[] }[] } = JSON.parse(
    readFileSync('docs/grafana-dashboard.json', 'utf8'),
  );
  const [target] = panels.find(({ title }) => title === 'Share of server faults')!.targets!;
  const asked = target!.expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$(job|instance)/g, '.*');
  const protocols = healthy.filter(({ name }) => name === `${REQUESTS}_count`).map(({ labels }) => labels.protocol);
  expect(protocols).toContain('rest');
  const none = [...new Set(protocols)].map((protocol) => ({ labels: `{protocol="${protocol}"}`, value: 0 }));
  expect(await judged([questionOf('no fault', healthy, asked, none)])).toBe('');
});
