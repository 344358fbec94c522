import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import type { Metadata } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { bearer, grpcClient, unary } from '../support/grpc.ts';
import { Issuer } from '../support/issuer.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { rawStream } from '../support/raw-grpc.ts';

/** No line may hold it, wherever it came in. */
const SECRET = 'opaque-secret-0123456789';
/** Unlike others, it can be a request id. */
const SHORT_TOKEN = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.c2ln';
/** A line of the log as a client would like to write it, after a line break of its own. */
const FORGED = '\n{"level":"fatal","msg":"forged"}\n';
const CONNECT = '/plantstore.v1.PlantStoreService';

let issuer: Issuer;
let service: LocalService;
let jwt: string;

beforeAll(async () => {
  issuer = await Issuer.start();
  service = await startLocalService({
    JWKS_URL: issuer.jwksUrl.href,
    JWT_ISSUER: issuer.issuer,
    JWT_AUDIENCE: issuer.audience,
    LOG_LEVEL: 'trace',
  });
  jwt = issuer.token();
});

afterAll(async () => {
  await service?.stop();
  await issuer?.stop();
});

/** Sends bytes as they are, and reads to the end of the connection. */
async function raw(bytes: string): Promise<void> {
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
  socket.on('error', () => {}).resume();
  socket.end(bytes);
  await once(socket, 'close');
}

const http = (line: string, headers: readonly string[] = [], body = '') =>
  raw([line, 'Host: plants.test', 'Connection: close', ...headers, '', body].join('\r\n'));

const post = (path: string, body: string, headers: readonly string[] = []) =>
  http(
    `POST ${path} HTTP/1.1`,
    [
      `Authorization: Bearer ${jwt}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      ...headers,
    ],
    body,
  );

const call = async (method: string, request: object, metadata: Metadata) => {
  const client = grpcClient(service.grpcUrl);
  await unary(client, method, request, metadata).catch(() => {});
  client.close();
};

const withMetadata = (name: string, value: string | Buffer) => {
  const metadata = bearer(jwt);
  metadata.set(name, value);
  return metadata;
};

const PLACES: readonly [string, () => Promise<void>][] = [
  ['an Authorization header', () => http('GET /plants HTTP/1.1', [`Authorization: Bearer ${SECRET}`])],
  ['another scheme', () => http('GET /plants HTTP/1.1', [`Authorization: Basic ${SECRET}`])],
  ['a cookie', () => http('GET /plants HTTP/1.1', [`Authorization: Bearer ${jwt}`, `Cookie: session=${SECRET}`])],
  ['any header', () => http('GET /plants HTTP/1.1', [`User-Agent: ${SECRET}`, `X-Forwarded-For: ${SECRET}`])],
  ['the request id', () => http('GET /plants HTTP/1.1', [`X-Request-Id: ${SECRET}=/`])],
  ['a short token as the request id', () => http('GET /plants HTTP/1.1', [`X-Request-Id: id-${SHORT_TOKEN}`])],
  ['the context of a trace', () => http('GET /plants HTTP/1.1', [`Traceparent: ${SECRET}`, `Baggage: key=${SECRET}`])],
  ['the query', () => http(`GET /plants?access_token=${SECRET}&limit=${SECRET}&cursor=${SECRET} HTTP/1.1`)],
  ['the path', () => http(`DELETE /plants/${SECRET} HTTP/1.1`, [`Authorization: Bearer ${jwt}`])],
  ['a path that is nowhere', () => http(`GET /${SECRET}/%0a HTTP/1.1`)],
  ['a path that is none', () => http(`GET /%zz${SECRET} HTTP/1.1`)],
  ['a method', () => http(`${SECRET} /plants HTTP/1.1`)],
  ['bytes that are no HTTP', () => raw(`${SECRET}\r\n\r\n`)],
  ['a body', () => post('/plants', JSON.stringify({ id: 1, name: SECRET, tag: SECRET }))],
  ['a body that is wrong', () => post('/plants', JSON.stringify({ id: SECRET }))],
  ['a body that is no JSON', () => post('/plants', SECRET)],
  ['a body of Connect', () => post(`${CONNECT}/CreatePlant`, JSON.stringify({ plant: { id: '2', name: SECRET } }))],
  ['a wrong body of Connect', () => post(`${CONNECT}/CreatePlant`, JSON.stringify({ plant: { id: SECRET } }))],
  ['a field of Connect', () => post(`${CONNECT}/ListPlants`, JSON.stringify({ [SECRET]: SECRET }))],
  ['a header of Connect', () => post(`${CONNECT}/ListPlants`, '{}', [`X-Api-Key: ${SECRET}`])],
  ['a time limit of Connect', () => post(`${CONNECT}/ListPlants`, '{}', [`Connect-Timeout-Ms: ${SECRET}`])],
  ['a token over gRPC', () => call('listPlants', {}, bearer(SECRET))],
  ['metadata', () => call('listPlants', {}, withMetadata('x-api-key', SECRET))],
  ['binary metadata', () => call('listPlants', {}, withMetadata('key-bin', Buffer.from(SECRET)))],
  ['the request id of gRPC', () => call('listPlants', {}, withMetadata('x-request-id', `${SECRET}=/`))],
  ['a message', () => call('createPlant', { plant: { id: 3n, name: SECRET } }, bearer(jwt))],
  ['a cursor', () => call('listPlants', { cursor: SECRET }, bearer(jwt))],
];

const LINE_BREAKS: readonly [string, () => Promise<void>][] = [
  ['a header, bare', () => http('GET /plants HTTP/1.1', [`X-Request-Id: a${FORGED}`])],
  ['a header, folded', () => http('GET /plants HTTP/1.1', [`X-Request-Id: a\r\n {"msg":"forged"}`])],
  ['the path', () => http(`DELETE /plants/${encodeURIComponent(FORGED)} HTTP/1.1`, [`Authorization: Bearer ${jwt}`])],
  ['the query', () => http(`GET /plants?cursor=${encodeURIComponent(FORGED)} HTTP/1.1`)],
  ['a body', () => post('/plants', JSON.stringify({ id: 4, name: FORGED }))],
  ['a body that is no JSON', () => post('/plants', FORGED)],
  [
    'an owner',
    () => http('GET /plants HTTP/1.1', [`Authorization: Bearer ${issuer.token({ claims: { sub: `a${FORGED}` } })}`]),
  ],
  [
    'an owner who is refused',
    () =>
      http('GET /plants HTTP/1.1', [
        `Authorization: Bearer ${issuer.token({ claims: { sub: `a${FORGED}`, exp: 1 } })}`,
      ]),
  ],
  [
    'an issuer',
    () => http('GET /plants HTTP/1.1', [`Authorization: Bearer ${issuer.token({ claims: { iss: FORGED } })}`]),
  ],
  ['binary metadata', () => call('listPlants', {}, withMetadata('x-request-id-bin', Buffer.from(FORGED)))],
  ['a message', () => call('createPlant', { plant: { id: 5n, name: FORGED } }, bearer(jwt))],
];

/** Waits until what was logged before is here: its lines come in order. */
async function settled(mark: string): Promise<void> {
  await http('GET /openapi.json HTTP/1.1', [`X-Request-Id: ${mark}`]);
  await service.logged(({ requestId, msg }) => requestId === mark && msg === 'request');
}

test.each(PLACES)('a secret in %s is in no line', async (place, send) => {
  await send();
  await settled(`secret-${PLACES.findIndex(([name]) => name === place)}`);
  expect(JSON.stringify(service.logs) + service.output).not.toMatch(new RegExp(`${SECRET}|ey\\w+\\.ey`));
});

test.each(LINE_BREAKS)('a line break in %s forges no line', async (place, send) => {
  await send();
  await settled(`break-${LINE_BREAKS.findIndex(([name]) => name === place)}`);
  expect(service.output).toBe('');
  expect(service.logs.filter(({ msg, level }) => msg === 'forged' || level === 'fatal')).toEqual([]);
});

test('metadata that is no text of ASCII makes no line of its own, with a secret in it', async () => {
  using stderr = vi.spyOn(console, 'error').mockReturnValue();
  const session = connectHttp2(`http://${service.grpcUrl}`);
  for (const name of ['authorization', 'x-api-key']) {
    const stream = rawStream(session, { [name]: `Bearer ${SECRET}\u00fc` });
    stream.end(Buffer.alloc(5));
    const [reply] = await once(stream.resume(), 'response');
    expect(reply['grpc-status']).toBe('16');
  }
  session.close();
  expect(stderr).not.toHaveBeenCalled();
});

test('the places were reached', () => {
  const seen = new Set(
    service.logs
      .filter(({ msg }) => msg === 'request')
      .map(({ protocol, status, code }) => `${protocol} ${code ?? status}`),
  );
  expect([...seen]).toEqual(
    expect.arrayContaining([
      'rest 200',
      'rest 400',
      'rest 401',
      'rest 404',
      'connect OK',
      'grpc OK',
      'grpc UNAUTHENTICATED',
    ]),
  );
});
