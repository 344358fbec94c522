import { afterAll, beforeAll, expect, test } from 'vitest';
import { HAS_MONGODB, newDatabase } from '../../store/open-mongo.ts';
import { attributesOf, Collector, caller, type ExportedSpan, traceparent } from '../../support/collector.ts';
import { command } from '../../support/command.ts';
import { bearer, grpcClient, unary } from '../../support/grpc.ts';
import { Instances } from '../../support/instances.ts';
import { PROTOCOLS } from '../../support/protocols.ts';
import { type Service, startService } from '../../support/service.ts';
import { readSources } from '../../support/source.ts';

/** Numbers of OTLP. */
const [INTERNAL, SERVER, ERROR] = [1, 2, 2];
const CREATE = 'plantstore.v1.PlantStoreService/CreatePlant';

let collector: Collector;
let service: Service;
let token: string;

beforeAll(async () => {
  collector = await Collector.start();
  service = await startService(collector.environment);
  token = await service.token('alice');
});

afterAll(async () => {
  await service?.stop();
  await collector?.[Symbol.asyncDispose]();
});

async function post(path: string, body: string, from: ReturnType<typeof caller>): Promise<Response> {
  const response = await fetch(service.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      traceparent: traceparent(from),
      tracestate: 'vendor=1',
    },
    body,
  });
  await response.text();
  return response;
}

const find = (spans: readonly ExportedSpan[], kind: number) => spans.find((span) => span.kind === kind)!;

/** Checks that the spans are the caller's child and its child, and returns both. */
function lineage(spans: readonly ExportedSpan[], { spanId }: { spanId: string }) {
  const [server, command] = [find(spans, SERVER), find(spans, INTERNAL)];
  expect(server.parentSpanId).toBe(spanId);
  expect(command.parentSpanId).toBe(server.spanId);
  return { server, command };
}

test('REST: the span of the request is a child of the caller, the command a child of it, with its position', async () => {
  const from = caller();
  const response = await post('/plants', '{"id":1,"name":"Fern"}', from);
  const { server, command } = lineage(await collector.trace(from.traceId, 2), from);
  expect(server.name).toBe('POST /plants');
  expect(attributesOf(server)).toEqual({
    'http.request.method': 'POST',
    'http.route': '/plants',
    'http.response.status_code': 200,
    'url.scheme': 'http',
  });
  const position = Number(response.headers.get('plantstore-position'));
  expect(command.name).toBe('AddPlant');
  expect(attributesOf(command)).toEqual({ 'plantstore.position': position });
});

test('Connect and gRPC take part as well', async () => {
  const connect = caller();
  await post(`/${CREATE}`, '{"plant":{"id":"2","name":"Moss"}}', connect);
  const { server } = lineage(await collector.trace(connect.traceId, 2), connect);
  expect(server.name).toBe(CREATE);
  expect(attributesOf(server)).toEqual({
    'rpc.system.name': 'connectrpc',
    'rpc.method': CREATE,
    'rpc.status_code': 'OK',
  });

  const grpc = caller();
  const metadata = bearer(token);
  metadata.set('traceparent', traceparent(grpc));
  const client = grpcClient(service.grpcUrl);
  await unary(client, 'createPlant', { plant: { id: 3n, name: 'Ivy' } }, metadata).finally(() => client.close());
  const ofGrpc = lineage(await collector.trace(grpc.traceId, 2), grpc);
  expect(attributesOf(ofGrpc.server)).toEqual({
    'rpc.system.name': 'grpc',
    'rpc.method': CREATE,
    'rpc.status_code': 'OK',
  });
});

test('what has no route, method or code of its protocol is named as the conventions have it', async () => {
  const spanOf = async (path: string, init: RequestInit) => {
    const from = caller();
    const headers = { authorization: `Bearer ${token}`, traceparent: traceparent(from), ...init.headers };
    await (await fetch(service.url + path, { ...init, headers })).text();
    const [span] = await collector.trace(from.traceId, 1);
    return [span!.name, attributesOf(span!)];
  };
  const http = (method: string, status: number) => ({
    ...{ 'http.request.method': method, 'url.scheme': 'http', 'http.response.status_code': status },
  });
  expect(await spanOf('/nowhere', {})).toEqual(['GET', http('GET', 404)]);
  expect(await spanOf('/plants', { method: 'PROPFIND' })).toEqual([
    'HTTP /plants',
    { ...http('_OTHER', 405), 'http.route': '/plants' },
  ]);
  const connect = { 'rpc.system.name': 'connectrpc', 'rpc.method': CREATE };
  const asJson = { 'content-type': 'application/json' };
  expect(await spanOf(`/${CREATE}`, { method: 'POST', body: '{', headers: asJson })).toEqual([
    CREATE,
    { ...connect, 'rpc.status_code': 'invalid_argument' },
  ]);
  expect(await spanOf(`/${CREATE}`, { method: 'POST', body: '{}', headers: { 'content-type': 'text/css' } })).toEqual([
    CREATE,
    { ...connect, 'http.response.status_code': 415 },
  ]);
});

test('an event of any protocol has the context that others may continue; what nobody traces has none', async () => {
  const owner = 'traced';
  const authorization = `Bearer ${await service.token(owner)}`;
  const callers = PROTOCOLS.map(caller);
  for (const flags of ['01', '00'])
    for (const [index, { client }] of PROTOCOLS.entries()) {
      const headers = { traceparent: traceparent(callers[index]!, flags), tracestate: 'vendor=text-of-the-caller' };
      await client(service, authorization, headers)[flags === '01' ? 'create' : 'delete'](BigInt(index), 'Fern');
    }
  const spans = await Promise.all(callers.map(({ traceId }) => collector.trace(traceId, 2)));
  const { stdout } = await command(['audit', 'export', '--owner', owner], { DATA_DIR: service.dataDirectory });
  expect(stdout).not.toContain('text-of-the-caller');
  const contexts = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).traceparent);
  expect(contexts).toEqual([
    ...spans.map((trace) => traceparent(find(trace, INTERNAL))),
    ...PROTOCOLS.map(() => undefined),
  ]);
});

test.runIf(HAS_MONGODB)('a forwarded command goes on at the writer', async () => {
  await using instances = await Instances.start(2, { MONGODB_URI: newDatabase(), ...collector.environment });
  const writer = await instances.settled('alice');
  const from = caller();
  const reply = await fetch(`${instances.services[1 - writer]!.url}/plants`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await instances.token('alice')}`,
      'content-type': 'application/json',
      traceparent: traceparent(from),
    },
    body: '{"id":1,"name":"Fern"}',
  });
  await reply.text();
  // It may be given back, and be sent again, where somebody else appended meanwhile.
  let spans = await collector.trace(from.traceId, 3);
  const decided = () =>
    spans.find((span) => span.name === 'AddPlant forwarded' && 'plantstore.position' in attributesOf(span));
  while (decided() === undefined) spans = await collector.trace(from.traceId, spans.length + 1);
  const command = find(spans, INTERNAL);
  const taken = decided()!;
  expect(taken.parentSpanId).toBe(command.spanId);
  const position = Number(reply.headers.get('plantstore-position'));
  expect(attributesOf(command)).toEqual({ 'plantstore.position': position });
  expect(attributesOf(taken)).toEqual({ 'plantstore.position': position });
});

test('a refusal is an error of its command by type alone, and a client that is wrong is none of the server', async () => {
  const from = caller();
  await post('/plants', '{"id":1,"name":"a-name-that-nobody-is-to-read"}', from);
  const spans = await collector.trace(from.traceId, 2);
  const { server, command } = lineage(spans, from);
  expect(command.status).toEqual({ code: ERROR });
  expect(attributesOf(command)).toEqual({ 'error.type': 'PLANT_ALREADY_EXISTS' });
  expect(server.status.code ?? 0).toBe(0);
  expect(attributesOf(server)['http.response.status_code']).toBe(400);
  expect(JSON.stringify(spans)).not.toMatch(/a-name-that-nobody|alice|ey[\w-]+\./);
});

test('a context that is no context begins a trace, and the log line names the trace', async () => {
  const response = await fetch(`${service.url}/plants?access_token=opaque-secret`, {
    headers: { authorization: `Bearer ${token}`, traceparent: '00-zz-\ttrash', 'x-request-id': 'traced.1' },
  });
  await response.text();
  const line = await service.logged(({ requestId }) => requestId === 'traced.1');
  expect(line.traceId).toMatch(/^[0-9a-f]{32}$/);
  const [span] = await collector.trace(line.traceId as string, 1);
  expect(span!.parentSpanId ?? '').toBe('');
  expect(JSON.stringify(span)).not.toContain('opaque-secret');
});

test('the service has a name, and one that ends sends what is left', async () => {
  await using other = await Collector.start();
  const environment = {
    ...other.environment,
    OTEL_BSP_SCHEDULE_DELAY: '600000',
    OTEL_SERVICE_NAME: 'plants-of-the-test',
  };
  const ending = await startService(environment);
  await (await fetch(`${ending.url}/openapi.json`)).text();
  expect(await ending.stop()).toBe(0);
  expect(other.spans.map(({ name }) => name)).toEqual(['GET /openapi.json']);
  expect(attributesOf(other.exports[0]!.resourceSpans[0]!.resource)['service.name']).toBe('plants-of-the-test');
  expect(attributesOf(collector.exports[0]!.resourceSpans[0]!.resource)['service.name']).toBe('plantstore');
});

test('a collector that is down is a line in the log, and nothing else', async () => {
  await using lonely = await startService({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    OTEL_EXPORTER_OTLP_TIMEOUT: '200',
    OTEL_BSP_SCHEDULE_DELAY: '20',
  });
  expect((await fetch(`${lonely.url}/openapi.json`)).status).toBe(200);
  expect(await lonely.logged(({ msg }) => msg === 'traces')).toMatchObject({ level: 'warn' });
});

test('off by the variables, a request has no trace', async () => {
  await using off = await startService({
    OTEL_SDK_DISABLED: 'true',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
  });
  await (await fetch(`${off.url}/openapi.json`)).text();
  expect(await off.logged(({ msg }) => msg === 'request')).not.toHaveProperty('traceId');
});

test('OpenTelemetry is in one file, which is loaded only on demand', () => {
  const importers = (specifier: RegExp) =>
    readSources()
      .filter(({ parsed }) => parsed.module.staticImports.some(({ moduleRequest: { value } }) => specifier.test(value)))
      .map(({ path }) => path);
  expect(importers(/^@opentelemetry\//)).toEqual(['src/observe/tracing.ts']);
  expect(importers(/\/opentelemetry\.ts$/)).toEqual([]);
});
