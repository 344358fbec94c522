import { METHODS } from 'node:http';
import { gzipSync } from 'node:zlib';
import { type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuditService } from '../../gen/plantstore/v1/audit_service_pb.ts';
import { ErasureService } from '../../gen/plantstore/v1/erasure_service_pb.ts';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { client, exchange, expectError, type RequestParts, type Send } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { named } from '../support/named.ts';
import { MIB } from './rest-edges.ts';

const CREATE = '/plantstore.v1.PlantStoreService/CreatePlant';
const DELETE = '/plantstore.v1.PlantStoreService/DeletePlant';
const LIST = '/plantstore.v1.PlantStoreService/ListPlants';
const STREAM = '/plantstore.v1.PlantStoreService/StreamPlants';
const INTEGERS = new Set([
  ...[ScalarType.INT32, ScalarType.UINT32, ScalarType.SINT32, ScalarType.FIXED32, ScalarType.SFIXED32],
  ...[ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64, ScalarType.FIXED64, ScalarType.SFIXED64],
]);
const ORIGIN = 'https://app.test';

let service: LocalService;
let send: Send;
beforeAll(async () => {
  service = await startLocalService({ CORS_ORIGINS: ORIGIN });
  send = client(service.url, await service.token('alice'));
});
afterAll(() => service.stop());

/** Expects an error in Connect's form. */
async function expectFailure(path: string, parts: RequestParts, status: number, code: string) {
  const reply = await send('POST', path, parts);
  expect({ status: reply.status, type: reply.headers['content-type'] }, reply.text).toEqual({
    status,
    type: 'application/json',
  });
  const error = JSON.parse(reply.text);
  expect(error).toMatchObject({ code, message: expect.stringMatching(/./) });
  return { ...error, headers: reply.headers };
}

describe('int64 in JSON', () => {
  test.each(['9007199254740993', '-9223372036854775808', '9223372036854775807', '0', '-7', '70'])(
    'is exact as a number: %s',
    async (id) => {
      const created = await send('POST', CREATE, { body: `{"plant": {"id": ${id}, "name": "\\"${id}\\""}}` });
      expect(created.status, created.text).toBe(200);
      expect(JSON.parse((await send('GET', '/plants')).text)).toContainEqual({ name: `"${id}"` });
      expect((await send('DELETE', `/plants/${id}`)).status).toBe(204);
    },
  );

  test('is exact as a number where another id is a neighbour', async () => {
    await send('POST', CREATE, { body: '{"plant":{"id":9007199254740992,"name":"even"}}' });
    await expectFailure(DELETE, { body: '{"id":9007199254740993}' }, 404, 'not_found');
    expect((await send('POST', DELETE, { body: '{"id":"9007199254740992"}' })).status).toBe(200);
  });

  test.each([
    ['9.007199254740993e15', '9007199254740993'],
    ['9223372036854775807.0', '9223372036854775807'],
    ['1.2345678901234e18', '1234567890123400000'],
    ['-92233720368547758080e-1', '-9223372036854775808'],
  ])('is exact in any notation, as over REST: %s', async (number, id) => {
    const created = await send('POST', CREATE, { body: `{"plant": {"id": ${number}, "name": "Fern"}}` });
    expect(created.status, created.text).toBe(200);
    expect((await send('DELETE', `/plants/${id}`)).status).toBe(204);
  });

  test.each([
    '9007199254740992.5',
    '9007199254740990.5',
    '9223372036854775807.5',
    '1e19',
    '1e400',
    '09007199254740993',
  ])('is refused where it is none: %s', async (id) => {
    await expectFailure(DELETE, { body: `{"id": ${id}}` }, 400, 'invalid_argument');
  });
});

/** The path of each integer in a message, lists and maps included. A time is a string in JSON. */
const integersIn = (message: DescMessage): string[][] =>
  message.fields.flatMap((field) => {
    if (field.message?.typeName === 'google.protobuf.Timestamp') return [];
    if (field.message !== undefined) return integersIn(field.message).map((path) => [field.name, ...path]);
    const types = field.fieldKind === 'map' ? [field.mapKey, field.scalar] : [field.scalar];
    return types.some((type) => INTEGERS.has(type!)) ? [[field.name]] : [];
  });

const INTEGER_FIELDS = [PlantStoreService, AuditService, ErasureService].flatMap((service) =>
  service.methods.flatMap(({ name, input, methodKind }) =>
    integersIn(input).map((path) => [`/${service.typeName}/${name}`, path, methodKind === 'unary'] as const),
  ),
);

/** Sends a message, in an envelope if the method streams, and returns the error that the answer has. */
async function errorOf(path: string, body: string, isUnary: boolean) {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(Buffer.byteLength(body), 1);
  const streamed = {
    body: Buffer.concat([prefix, Buffer.from(body)]),
    headers: { 'content-type': 'application/connect+json' },
  };
  const { text } = await send('POST', path, isUnary ? { body } : streamed);
  return isUnary ? JSON.parse(text) : JSON.parse(text.slice(5)).error;
}

test.each(named(INTEGER_FIELDS))(
  'an integer is decimal digits, or a number: %s %s',
  async (_, path, field, isUnary) => {
    const texts = ['0x10', '0b11', '0o7', '\\n5\\t', ' 5', '5 ', '5\u00a0', '+5', '', '1e2', '7.0', '٧', '5n', '-'];
    const values = [...texts.map((text) => `"${text}"`), '7.5', 'true', '{}', '["5"]', '9223372036854775808'];
    for (const value of [...values, '"9223372036854775808"', `"${'9'.repeat(60_000)}"`]) {
      const body = field.reduceRight((inner, name) => `{"${name}":${inner}}`, value);
      const { code, details } = await errorOf(path, body, isUnary);
      expect({ code, details }, value).toMatchObject({
        code: 'invalid_argument',
        details: [
          { debug: { reason: 'INVALID_FIELD' } },
          { type: 'google.rpc.BadRequest', debug: { fieldViolations: [{ field: field.join('.') }] } },
        ],
      });
    }
  },
);

test('there are integers to try', () => expect(INTEGER_FIELDS.length).toBeGreaterThan(5));

test('an integer in a string may have zeros in front', async () => {
  expect((await send('POST', LIST, { body: '{"limit":"007"}' })).status).toBe(200);
});

test.each(
  named([
    [CREATE, '{"plant":{"id":7,"name":"Fern","nam":"Moss"}}', 'MALFORMED_REQUEST'],
    [CREATE, '{"plant":{"name":"Fern"}}', 'INVALID_FIELD'],
    [CREATE, '{"plant":{"id":7}}', 'INVALID_FIELD'],
    [CREATE, '{}', 'INVALID_FIELD'],
    [DELETE, '{}', 'INVALID_FIELD'],
    [LIST, '{"limit":0,"fern":12345678901234567890}', 'MALFORMED_REQUEST'],
  ]),
)('what is misspelt or missing is refused, with details: %s %s', async (_, path, body, reason) => {
  const { details } = await expectFailure(path, { body }, 400, 'invalid_argument');
  expect(details[0].debug).toEqual({ reason, domain: 'plantstore' });
  expect((await send('GET', '/plants?view=FULL')).text).not.toContain('"id":0');
});

test.each(
  named([
    [LIST, '{"view":"WEIRD"}', 'view must be VIEW_BASIC or VIEW_FULL'],
    [LIST, '{"view":7}', 'view must be VIEW_BASIC or VIEW_FULL'],
    [LIST, '{"view":7.5}', 'view must be VIEW_BASIC or VIEW_FULL'],
    [LIST, '{"limit":-1}', 'limit must be an integer from 0 to 2147483647'],
    [LIST, '{"limit":2147483648}', 'limit must be an integer from 0 to 2147483647'],
    [LIST, '{"cursor":7}', 'cursor must be a string'],
    [LIST, '{"cursor":9007199254740993}', 'cursor must be a string'],
    [CREATE, '{"plant":{"id":7,"name":9007199254740993}}', 'plant.name must be a string'],
    [CREATE, '{"plant":{"id":7,"name":"Fern","tag":1.5e300}}', 'plant.tag must be a string'],
    [CREATE, '{"plant":{"id":7,"name":["Fern"]}}', 'plant.name must be a string'],
    [CREATE, '{"plant":{"id":7,"name":"\\ud800"}}', 'plant.name must be well-formed Unicode, without lone surrogates'],
    [CREATE, '{"plant":[]}', 'plant must be an object'],
    [CREATE, '{"plant":"Fern"}', 'plant must be an object'],
  ]),
)('a value that does not fit its field is told by the name of the field: %s %s', async (_, path, body, message) => {
  const failure = await expectFailure(path, { body }, 400, 'invalid_argument');
  expect([failure.message, failure.details[0].debug.reason]).toEqual([message, 'INVALID_FIELD']);
});

test.each([
  ['application/proto', LIST, /^\{"code":"invalid_argument","message":"the message must be a \S+ in protobuf binary"/],
  ['application/grpc-web+proto', LIST, /grpc-message: the%20message%20must%20be%20a%20.*\r\ngrpc-status: 3\r/],
  ['application/connect+proto', STREAM, /"code":"invalid_argument","message":"the message must be a \S+ in protobuf/],
])('a message that is no protobuf is refused, with its reason: %s', async (type, path, answer) => {
  const broken = Buffer.from([0xff, 0xff, 0xff]);
  const body = type === 'application/proto' ? broken : Buffer.concat([Buffer.from([0, 0, 0, 0, 3]), broken]);
  expect((await send('POST', path, { headers: { 'content-type': type }, body })).text).toMatch(answer);
});

test.each(['[]', 'null', '7', '"Fern"'])('a body that is no object is refused as over REST: %s', async (body) => {
  const { message, details } = await expectFailure(LIST, { body }, 400, 'invalid_argument');
  expect([message, details[0].debug.reason]).toEqual(['the body must be a JSON object', 'MALFORMED_REQUEST']);
});

test.each([
  ['unary', LIST, 'application/json', 'content-encoding', '{}'],
  ['a stream', STREAM, 'application/connect+json', 'connect-content-encoding', '\0\0\0\0\x02{}'],
  ['gRPC-Web', LIST, 'application/grpc-web+proto', 'grpc-encoding', '\0\0\0\0\0'],
])('a message in a compression is refused with what to do: %s', async (_, path, type, name, body) => {
  for (const coding of ['gzip', 'fern']) {
    const { text } = await send('POST', path, { headers: { 'content-type': type, [name]: coding }, body });
    expect(decodeURIComponent(text)).toContain('send messages without compression');
  }
  const { text } = await send('POST', path, { headers: { 'content-type': type, [name]: 'identity' }, body });
  expect(decodeURIComponent(text)).not.toContain('compression');
});

test.each([
  ['application/connect+json', STREAM, /"code":"unimplemented","message":"send messages without compression"/],
  ['application/connect+proto', STREAM, /"code":"unimplemented","message":"send messages without compression"/],
  ['application/grpc-web+proto', LIST, /grpc-message: send%20messages%20without%20compression\r\ngrpc-status: 12\r/],
])('so is one whose flags alone say that it is compressed: %s', async (type, path, answer) => {
  const { text } = await send('POST', path, { headers: { 'content-type': type }, body: '\x01\0\0\0\x02{}' });
  expect(text).toMatch(answer);
});

test.each([
  ['the flags of a compression and another', '\x03\0\0\0\0', /unimplemented/],
  ['flags that nobody knows', '\x04\0\0\0\x02{}', /invalid_argument/],
  [
    'more fields than a message may have',
    Buffer.concat([Buffer.from([4, 0, 0, 7, 210]), Buffer.alloc(2_002, 8)]),
    /invalid_argument/,
  ],
  ['a byte behind it', '\0\0\0\0\x02{}x', /invalid_argument/],
  ['another message behind it', '\0\0\0\0\x02{}\0\0\0\0\x02{}', /invalid_argument/],
  ['nothing', '', /invalid_argument/],
])('an envelope with %s is refused, and the fault is the client’s', async (_, body, answer) => {
  for (const type of ['application/connect+json', 'application/connect+proto'])
    expect((await send('POST', STREAM, { headers: { 'content-type': type }, body })).text).toMatch(answer);
  const { text } = await send('POST', LIST, { headers: { 'content-type': 'application/grpc-web+proto' }, body });
  expect(text).toMatch(/grpc-status: (3|12)\r/);
});

// What is no JSON, test/api/rest-edges.test.ts sends over Connect too.
test.each([
  ['empty', 'json', ''],
  // Long enough for its fields to be counted.
  ['no protobuf', 'proto', Buffer.alloc(3_000, 0xff)],
])('a body that is none is refused: %s', async (_, type, body) => {
  const headers = { 'content-type': `application/${type}` };
  await expectFailure(LIST, { body, headers }, 400, 'invalid_argument');
});

test('errors have the headers that REST has, and details', async () => {
  const { headers, details } = await expectFailure(
    LIST,
    { headers: { authorization: null as never }, body: '{}' },
    401,
    'unauthenticated',
  );
  expect(headers['www-authenticate']).toMatch(/^Bearer/);
  expect(headers['x-request-id']).toMatch(/./);
  expect(details[0]).toMatchObject({
    type: 'google.rpc.ErrorInfo',
    debug: { reason: 'TOKEN_MISSING', domain: 'plantstore' },
  });
});

describe('what Connect would answer with an empty body has an Error body', () => {
  test.each(METHODS.filter((method) => !['POST', 'CONNECT', 'HEAD', 'OPTIONS'].includes(method)))(
    '%s',
    async (method) => {
      const reply = await send(method, LIST);
      expectError(reply, 405, 12);
      expect(reply.headers.allow).toBe('POST');
    },
  );

  test.each([
    [LIST, 'text/plain'],
    [LIST, 'application/connect+json'],
    [LIST, 'application/grpc'],
    [LIST, 'application/grpc-web-text'],
    [LIST, 'application/grpc-web+json'],
    [LIST, 'application/json; charset=latin1'],
    [STREAM, 'application/json'],
    [STREAM, 'application/proto'],
  ])('%s as %s', async (path, type) => {
    expectError(await send('POST', path, { headers: { 'content-type': type }, body: '{}' }), 415, 3);
  });

  test('a method that is none', async () => {
    expectError(await send('POST', '/plantstore.v1.PlantStoreService/Water', { body: '{}' }), 404, 5);
    expectError(await send('POST', '/plantstore.v1.Garden/ListPlants', { body: '{}' }), 404, 5);
  });

  test.each(['a b', 'a:b', '['])('a Host that names nothing: %j', async (host) => {
    expectError(await send('POST', LIST, { headers: { host }, body: '{}' }), 400, 3);
  });

  test('no Host, over HTTP/1.0', async () => {
    const head = ['content-type: application/json', 'content-length: 2'].join('\r\n');
    const answer = await exchange(service.url, `POST ${LIST} HTTP/1.0\r\n${head}\r\n\r\n{}`);
    expect(answer).toMatch(/^HTTP\/1.1 400 .*\{"error":3,/s);
  });
});

describe('limits', () => {
  const big = Buffer.alloc(64 * 1024 + 1, ' ');

  test.each([
    ['application/json', LIST, 429],
    ['application/proto', LIST, 429],
    ['application/grpc-web+proto', LIST, 200],
    ['application/connect+json', STREAM, 200],
  ])('a message above 64 KiB is refused: %s', async (type, path, status) => {
    for (const chunked of [false, true]) {
      const reply = await send('POST', path, { headers: { 'content-type': type }, body: big, chunked });
      expect(reply.status).toBe(status);
      expect(reply.text).toMatch(/resource_exhausted|grpc-status: 8/);
    }
  });

  test('a message of 64 KiB is not', async () => {
    const reply = await send('POST', LIST, { body: Buffer.concat([big.subarray(0, -3), Buffer.from('{}')]) });
    expect(reply.text).toMatch(/^\{/);
    expect(reply.status).toBe(200);
  });

  test('a compressed message is not unpacked', async () => {
    const body = gzipSync(Buffer.alloc(100 * MIB, ' '));
    await expectFailure(LIST, { headers: { 'content-encoding': 'gzip' }, body }, 501, 'unimplemented');
  });

  test.each([
    ['connect-timeout-ms', ['2147483647', '2147483648', '9999999999']],
    ['grpc-timeout', ['2147483S', '2147484S', '35792M', '99999999H']],
  ])('a time limit that no timer holds is none, and makes no line on stderr: %s', async (name, limits) => {
    const type = name === 'grpc-timeout' ? 'application/grpc-web+proto' : 'application/json';
    const body = name === 'grpc-timeout' ? Buffer.alloc(5) : '{}';
    const warned: Error[] = [];
    const note = (warning: Error) => warned.push(warning);
    process.on('warning', note);
    for (const limit of limits) {
      const { status, text } = await send('POST', LIST, { headers: { 'content-type': type, [name]: limit }, body });
      expect([limit, status, text]).toEqual([limit, 200, expect.stringMatching(/^\{|grpc-status: 0/)]);
    }
    process.off('warning', note);
    expect(warned).toEqual([]);
  });

  test.each(['99999999999', '-1', 'fern', '1e3'])('a time limit that is none is refused: %s', async (limit) => {
    await expectFailure(LIST, { headers: { 'connect-timeout-ms': limit }, body: '{}' }, 400, 'invalid_argument');
  });
});

describe('CORS', () => {
  const preflight = (path: string, origin: string) =>
    send('OPTIONS', path, { headers: { origin, 'access-control-request-method': 'POST' } });

  test.each([LIST, STREAM, '/plants', '/plants/7'])('a script of an allowed origin may call %s', async (path) => {
    const { status, headers } = await preflight(path, ORIGIN);
    expect({ status, origin: headers['access-control-allow-origin'] }).toEqual({ status: 204, origin: ORIGIN });
    expect(headers['access-control-allow-methods']).toMatch(/DELETE.*POST.*GET/);
    for (const name of ['Authorization', 'Connect-Protocol-Version', 'Idempotency-Key', 'Traceparent', 'X-Grpc-Web'])
      expect(headers['access-control-allow-headers']).toContain(name);
    expect((await preflight(path, 'https://other.test')).headers).not.toHaveProperty('access-control-allow-origin');
  });

  test('other OPTIONS requests are refused like any method that a path does not have', async () => {
    const accessed = { origin: ORIGIN, 'access-control-request-method': 'POST' };
    expect((await send('OPTIONS', '/plants', { headers: accessed })).headers).not.toHaveProperty('content-length');
    const { origin, ...others } = accessed;
    for (const headers of [{}, { origin }, others]) {
      const reply = await send('OPTIONS', '/plants', { headers });
      expectError(reply, 405, 12);
      expect(reply.headers.allow).toBe('POST, GET, HEAD');
      expect(reply.text).toContain('use POST, GET or HEAD');
      expectError(await send('OPTIONS', '/nothing', { headers }), 404, 5);
    }
  });

  test('it may read answers and errors, with their headers', async () => {
    for (const parts of [{ body: '{}' }, { body: '{' }]) {
      const { headers } = await send('POST', LIST, { ...parts, headers: { origin: ORIGIN } });
      expect(headers['access-control-allow-origin']).toBe(ORIGIN);
      expect(headers['access-control-expose-headers']).toMatch(
        /Idempotency-Replayed.*Plantstore-Position.*Plantstore-Reason.*Grpc-Status/,
      );
    }
    const { status, headers } = await send('GET', '/nothing', { headers: { origin: ORIGIN } });
    expect({ status, origin: headers['access-control-allow-origin'] }).toEqual({ status: 404, origin: ORIGIN });
  });

  test('a cache keeps answers to several origins apart, and those that another header chose', async () => {
    expect((await send('POST', CREATE, { body: '{"plant":{"id":7,"name":"Fern"}}' })).status).toBe(200);
    for (const [path, header] of [
      ['/plants', 'accept'],
      ['/', 'accept'],
      ['/log/tile/entries/000.p/1', 'accept-encoding'],
    ] as const) {
      const { headers } = await send('GET', path, { headers: { accept: 'text/html' } });
      expect([path, headers.vary]).toEqual([path, `Origin, ${header}`]);
    }
  });

  test('without CORS_ORIGINS no foreign script reads anything', async () => {
    await using strict = await startLocalService();
    const call = client(strict.url, await strict.token('alice'));
    const { headers } = await call('POST', LIST, { headers: { origin: ORIGIN }, body: '{}' });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    expectError(await call('OPTIONS', LIST, { headers: { origin: ORIGIN } }), 405, 12);
  });
});
