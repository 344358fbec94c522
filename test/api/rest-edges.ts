import type { RequestParts } from '../support/http.ts';

/** A request, and how it must be refused. */
export interface Refused {
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly parts: RequestParts;
  readonly status: number;
  /** The member `error` of the body. */
  readonly code: number;
  /** What its message says. */
  readonly says: RegExp;
  /** Whether Connect, to which the same object goes as the plant, takes it. */
  readonly isTakenByConnect?: boolean;
}

/** A value for a title, which may have a mebibyte. */
const short = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 60);

function refused(method: string, path: string, what: unknown, rest: Partial<Refused> = {}): Refused {
  const told = typeof what === 'string' ? what.slice(0, 60) : short(what);
  return {
    what: `${method} ${path.slice(0, 60)}: ${told}`,
    method,
    path,
    parts: {},
    status: 400,
    code: 3,
    says: /./,
    ...rest,
  };
}

const MAX_MESSAGE = 64 * 1024;
export const MIB = 1024 * 1024;
export const PLANT = '{"id":7,"name":"Fern"}';
export const MIN = '-9223372036854775808';
export const MAX = '9223372036854775807';
export const LONGEST = '\u{1F335}'.repeat(1024);
/** What a database might take for an operator. */
const OPERATORS = ['{"$gt":""}', '{"$ne":null}', '["a"]', '{"$where":"sleep(9999)"}'];

/** An id in a path that is no int64, or no text. */
const PATH_IDS = [
  ...['', 'x', '7x', '7.0', '7e0', '1e3', '0x7', '+7', '--7', '-', 'null', '7;a=b', '..', '%2e%2e', '%252e'],
  ...['%207', '%20%37', '%00', '7%00', 'a%2Fb', '7%2f..', '..%2f..%2fetc%2fpasswd', '%D9%A7', '%EF%BC%97'],
  ...['%', '%2', '%zz', '%ff', '%c0%af', '%ed%a0%80', ...OPERATORS.map(encodeURIComponent)],
  ...['9223372036854775808', '-9223372036854775809'],
  ...['1'.repeat(20_000), '1'.repeat(100_000), `-${'9'.repeat(1_000_000)}`],
];

/** Parameters of a list, each by the name that the message gives. */
const QUERIES = {
  limit: [
    ...['2147483648', '-1', '1.5', '1e3', '', 'x', '0x1', '+1', '%201', '1%20', 'null', '99999999999999999999'],
    ...['1&limit=1', '&limit=1', ...OPERATORS.map(encodeURIComponent)],
  ],
  cursor: ['', 'x', '%ff', 'AQ', 'a&cursor=b', '&cursor=', 'A'.repeat(1_000), ...OPERATORS.map(encodeURIComponent)],
  view: ['', 'full', 'VIEW_FULL', 'UNSPECIFIED', '2', 'FULL&view=FULL', 'BASIC&view=FULL'],
};

/** Values of no member of a plant. */
const WRONG = ['null', 'true', '[]', '{}', '[7]', '{"value":7}', ...OPERATORS];
const WRONG_ID = [
  ...[...WRONG, '""', '7.5', '1e400', '-1e400', '1e-400', '7.0000000000000000000000001', '1e19', '1e999999999999'],
  ...['9223372036854775808', '-9223372036854775809', '9223372036854775807.5', '18446744073709551616'],
];
const WRONG_TEXT = [
  ...[...WRONG, '7', '"\\ud800"', '"\\udc00"', '"a\\udf35\\ud83c"'],
  ...[`"${'a'.repeat(1025)}"`, JSON.stringify(`${LONGEST}a`)],
];
/** Plants of which a member is wrong or missing, with its name. The third: Connect takes them. */
const WRONG_PLANTS: readonly (readonly [string, string, boolean?])[] = [
  ...WRONG_ID.map((value) => ['id', `{"id":${value},"name":"Fern"}`] as const),
  ...WRONG_TEXT.map((value) => ['name', `{"id":7,"name":${value}}`] as const),
  // Null is no tag there.
  ...WRONG_TEXT.map((value) => ['tag', `{"id":7,"name":"Fern","tag":${value}}`, value === 'null'] as const),
  ['id', '{"id":"7","name":"Fern"}', true],
  ['id', '{"name":"Fern"}'],
  ['id', '{}'],
  ['id', '{"ID":7,"Id":7,"name":"Fern"}'],
  ['name', '{"id":7}'],
  ['name', '{"id":7,"tag":"indoor"}'],
  ['name', '{"id":7,"__proto__":{"name":"Fern"}}'],
  ['id', '{"__proto__":{"id":7,"name":"Fern"}}'],
  ['id', '{"constructor":{"id":7,"name":"Fern"}}'],
  ['name', '{"id":7,"plant":{"id":7,"name":"Fern"}}'],
];

const around = (bytes: number[]): Buffer =>
  Buffer.concat([Buffer.from('{"id":7,"name":"'), Buffer.from(bytes), Buffer.from('"}')]);

/** Bodies that are no object of JSON. */
const NO_OBJECTS: readonly (readonly [string, string | Buffer | undefined])[] = [
  ['no body', undefined],
  ['an empty body', ''],
  ['spaces', '  '],
  ['null', 'null'],
  ['a number', '7'],
  ['a string', '"Fern"'],
  ['an array', `[${PLANT}]`],
  ['over a thousand values', `{"id":7,"name":"Fern","more":[${'[],'.repeat(1_000)}0]}`],
  ['nested arrays', '['.repeat(30_000) + ']'.repeat(30_000)],
  ['nested objects', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`],
  ['a name of nested arrays', `{"id":7,"name":${'['.repeat(30_000)}${']'.repeat(30_000)}}`],
  ['half an object', PLANT.slice(0, -1)],
  ['two objects', PLANT + PLANT],
  ['a comma at the end', '{"id":7,"name":"Fern",}'],
  ['single quotes', "{'id':7,'name':'Fern'}"],
  ['NaN', '{"id":NaN,"name":"Fern"}'],
  ['leading zeros', '{"id":007,"name":"Fern"}'],
  ['a plus sign', '{"id":+7,"name":"Fern"}'],
  ['a comment', `${PLANT}//`],
  ['a member twice', '{"id":7,"id":7,"name":"Fern"}'],
  ['a member twice, once escaped', '{"id":7,"name":"Fern","n\\u0061me":"Oak"}'],
  ['an unknown member twice', '{"id":7,"name":"Fern","x":{"y":1,"y":2}}'],
  ['a raw control character', '{"id":7,"name":"a\nb"}'],
  ['a byte order mark', `\ufeff${PLANT}`],
  ['UTF-16', Buffer.from(PLANT, 'utf16le')],
  ['Latin-1', Buffer.from('{"id":7,"name":"é"}', 'latin1')],
  ['an overlong encoding', around([0xc0, 0xaf])],
  ['a surrogate in UTF-8', around([0xed, 0xa0, 0x80])],
  ['half a character', around([0xf0, 0x9f])],
];

/** Headers of a body that is no JSON, or is coded. */
const TYPES = [
  ...[null, '', 'text/plain', 'text/json', 'application/jsonp', 'application/vnd.x+json', 'application'].map(
    (type) => ({ 'content-type': type }),
  ),
  { 'content-type': 'application/x-www-form-urlencoded' },
  { 'content-type': 'application/json, text/plain' },
  ...['gzip', 'br', 'identity, gzip'].map((coding) => ({ 'content-encoding': coding })),
] as readonly Record<string, string>[];

const KEYS: readonly (readonly [string, string | string[]])[] = [
  ['empty', ''],
  ['an empty string', '""'],
  ['too long', 'x'.repeat(256)],
  ['a string too long', `"${'x'.repeat(256)}"`],
  ['without its closing quote', '"a'],
  ['with a quote in it', 'a"b'],
  ['with an escape that is none', '"a\\b"'],
  ['two', ['a', 'b']],
  ['the same twice', ['"a"', '"a"']],
  ['two in one', '"a", "b"'],
  ['two words', 'a b'],
  ['with a parameter', '"a";b=c'],
  ['not in ASCII', Buffer.from('"é"').toString('latin1')],
  ['with a tab', '"a\tb"'],
];

/** Requests of an owner, each of which changes nothing. */
export const REFUSED: readonly Refused[] = [
  ...PATH_IDS.flatMap((id) => ['DELETE', 'GET'].map((method) => refused(method, `/plants/${id}`, 'no id'))),
  ...Object.entries(QUERIES).flatMap(([name, values]) =>
    values.map((value) => refused('GET', `/plants?${name}=${value}`, 'no such value', { says: new RegExp(name) })),
  ),
  refused('GET', '/plants?limit', 'no value', { says: /limit/ }),
  refused('GET', '/plants/70?view=full', 'no such value', { says: /view/ }),
  refused('GET', '/plants/', 'a slash at the end', { says: /id is missing: the path ends with a slash/ }),
  ...WRONG_PLANTS.map(([field, body, isTakenByConnect = false]) =>
    refused('POST', '/plants', body, { parts: { body }, says: new RegExp(`^${field} `), isTakenByConnect }),
  ),
  ...NO_OBJECTS.map(([what, body]) =>
    refused('POST', '/plants', what, {
      parts: body === undefined ? {} : { body },
      says: /^the body /,
      isTakenByConnect: false,
    }),
  ),
  ...TYPES.map((headers) =>
    refused('POST', '/plants', headers, { parts: { body: PLANT, headers }, status: 415, code: 3 }),
  ),
  ...[MAX_MESSAGE + 1, 3 * MIB].flatMap((bytes) =>
    [false, true].map((chunked) => {
      const parts = { body: 'x'.repeat(bytes), chunked };
      return refused('POST', '/plants', `${bytes} bytes, chunked: ${chunked}`, { parts, status: 413, code: 8 });
    }),
  ),
  ...KEYS.map(([what, key]) =>
    refused('POST', '/plants', `an Idempotency-Key that is ${what}`, {
      parts: { body: PLANT, headers: { 'Idempotency-Key': key } },
      says: /^Idempotency-Key must be one string of 1 to 255/,
    }),
  ),
  refused('POST', '/plants', 'an id that is there', {
    parts: { body: '{"id":70,"name":"Moss"}' },
    code: 6,
    says: /70/,
  }),
  refused('GET', '/console/instance', 'no scope for it', { status: 403, code: 7 }),
  refused('POST', '/plantstore.v1.PlantStoreService/ListPlants', 'no type of Connect', {
    parts: { body: '{}', headers: { 'content-type': 'text/html' } },
    status: 415,
    code: 3,
  }),
  refused('DELETE', '/plants/7', 'an id that is not there', { status: 404, code: 5 }),
  refused('GET', '/plants/7', 'an id that is not there', { status: 404, code: 5 }),
];

/** Requests that are answered before anybody asks whose they are: the same for a caller without a token. */
export const OF_NOBODY: readonly Refused[] = [
  refused('GET', '/', 'no such path', { status: 404, code: 5 }),
  ...['/plant', '/plants/7/', '/plants/7/8', '/PLANTS', '//plants', '/plants;x=1', '/openapi.yaml'].flatMap((path) =>
    ['GET', 'POST', 'DELETE', 'PROPFIND'].map((method) => {
      const parts = { headers: { 'content-type': 'x' }, body: '{' };
      return refused(method, path, 'no such path', { parts, status: 404, code: 5 });
    }),
  ),
  ...['/docs/nothing', '/console/nothing', '/console/assets/nothing.js', '/console/assets/../../package.json'].map(
    (path) => refused('GET', path, 'no such page', { status: 404, code: 5 }),
  ),
  ...[
    ['GET', '/plants'],
    ['GET', '/plants/7'],
    ['DELETE', '/plants/7'],
    ['DELETE', '/plants/x'],
    ['POST', '/plants'],
  ].map(([method, path]) => refused(method!, path!, 'no token', { status: 401, code: 16 })),
  ...[
    { body: 'x'.repeat(2 * MIB) },
    { body: 'x'.repeat(2 * MIB), chunked: true },
    { body: PLANT, headers: { 'content-type': 'text/plain' } },
    { body: '{' },
  ].map((parts) => refused('POST', '/plants', parts, { parts, status: 401, code: 16 })),
];

/** The methods that each path takes. */
export const ALLOWED = {
  '/plants': ['GET', 'HEAD', 'POST'],
  '/plants/7': ['DELETE', 'GET', 'HEAD'],
  '/plants/x': ['DELETE', 'GET', 'HEAD'],
  '/': ['GET', 'HEAD'],
  '/openapi.json': ['GET', 'HEAD'],
  '/docs': ['GET', 'HEAD'],
  '/docs/': ['GET', 'HEAD'],
};

/** Bodies that are a plant of id 7, and the plant. */
export const TAKEN: readonly (readonly [string, string, RequestParts?])[] = [
  ['{"id":7,"name":"Fern","tag":"indoor"}', '{"name":"Fern","tag":"indoor"}'],
  ['{"id":7,"name":"Fern"}', '{"name":"Fern"}'],
  ['{"id":7,"name":"","tag":""}', '{"name":"","tag":""}'],
  [` {\r\n\t"tag" : "a" , "name" : "b" , "id" : 7 }\n`, '{"name":"b","tag":"a"}'],
  ['{"id":7,"name":"Fern","extra":{"id":"x","name":null},"more":[1e400,7.5]}', '{"name":"Fern"}'],
  ['{"id":7,"name":"Fern","__proto__":{"tag":"no"},"constructor":1}', '{"name":"Fern"}'],
  ['{"hasOwnProperty":{"id":9},"toString":1,"__defineGetter__":{},"id":7,"name":"Fern"}', '{"name":"Fern"}'],
  ['{"\\u0069d":7,"n\\u0061me":"\\ud83c\\udf35\\n\\u0000"}', '{"name":"\u{1F335}\\n\\u0000"}'],
  [`{"id":7,"name":"Fern","deep":${'['.repeat(900)}${']'.repeat(900)}}`, '{"name":"Fern"}'],
  [
    `{"id":7,"name":${JSON.stringify(LONGEST)},"tag":${JSON.stringify(LONGEST)}}`,
    JSON.stringify({ name: LONGEST, tag: LONGEST }),
  ],
  ...[false, true].map((chunked) => {
    const body = `{"id":7,"name":"Fern","x":"`.padEnd(MAX_MESSAGE - 2, 'x');
    return [`${body}"}`, '{"name":"Fern"}', { chunked }] as const;
  }),
  ...[
    { 'content-type': 'application/json;charset=utf-8' },
    { 'content-type': 'Application/JSON ; charset="UTF-8"' },
    { 'content-encoding': 'identity' },
    { 'transfer-encoding': 'CHUNKED', 'content-length': undefined },
  ].map((headers) => [PLANT, '{"name":"Fern"}', { headers }] as const),
];

/** Numbers of JSON that are an int64, and which. */
export const INTEGERS: readonly (readonly [string, string])[] = [
  ['0', '0'],
  ['-1', '-1'],
  ['9007199254740993', '9007199254740993'],
  ['-9007199254740993', '-9007199254740993'],
  [MIN, MIN],
  [MAX, MAX],
  ['-0', '0'],
  ['7.0', '7'],
  ['70e-1', '7'],
  ['0.7E+1', '7'],
  ['9007199254740993.000', '9007199254740993'],
  ['922337203685477580.7e1', MAX],
  ['0e99999', '0'],
];

/** What a DELETE may have beside its path, and which it ignores. */
export const IGNORED: readonly RequestParts[] = [
  { headers: { 'content-type': 'application/json' } },
  { body: '' },
  { body: '{not json' },
  { body: 'x'.repeat(2 * MIB) },
  { body: 'x', chunked: true },
  { headers: { 'content-type': 'no type', 'content-encoding': 'br' } },
];

const HEAD = 'Host: x\r\nConnection: close\r\n';
/** A plant in chunks, and another request, which would delete the only plant of the token's owner. */
const BEHIND = (token: string) =>
  `${PLANT.length.toString(16)}\r\n${PLANT}\r\n0\r\n\r\n` +
  `DELETE ${ONLY_PLANT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
/** The path of that plant. */
export const ONLY_PLANT = '/plants/1';

/** Bytes to a request with a token, and what may follow its headers. */
const POST = (token: string, fields: string, version = 'HTTP/1.1') =>
  `POST /plants ${version}\r\n${fields}Authorization: Bearer ${token}\r\nContent-Type: application/json\r\n\r\n`;

/** Bytes with a token of the sender, and how they are refused. */
interface NoRequest {
  readonly what: string;
  readonly bytesOf: (token: string) => string;
  readonly status: number;
  readonly code: number;
  /** A part of the message. */
  readonly said?: string;
}

const noRequest = (what: string, bytesOf: (token: string) => string, status = 400, code = 3): NoRequest => ({
  what,
  bytesOf,
  status,
  code,
});

/** Bytes that are no request of HTTP, or not for certain one: one answer, and the connection ends. */
export const NO_REQUESTS: readonly NoRequest[] = [
  noRequest('no HTTP', () => 'hello\r\n\r\n'),
  {
    ...noRequest('an unknown method', () => `FLY /plants HTTP/1.1\r\n${HEAD}\r\n`),
    said: 'a method of HTTP, such as GET',
  },
  noRequest('no Host', () => 'GET /plants HTTP/1.1\r\nConnection: close\r\n\r\n'),
  noRequest('a NUL in the path', () => `GET /pl\0nts HTTP/1.1\r\n${HEAD}\r\n`),
  noRequest('CONNECT', () => `CONNECT example.com:443 HTTP/1.1\r\n${HEAD}\r\n`),
  noRequest('a request line without end', () => `DELETE /plants/${'1'.repeat(200_000)}`),
  noRequest('a header without end', () => `GET /plants HTTP/1.1\r\n${HEAD}X: ${'x'.repeat(200_000)}`),
  noRequest('thousands of headers', () => `GET /plants HTTP/1.1\r\n${HEAD}${'X: x\r\n'.repeat(50_000)}\r\n`),
  noRequest('OPTIONS *', () => `OPTIONS * HTTP/1.1\r\n${HEAD}\r\n`, 404, 5),
  noRequest('chunks that are none', (token) => `${POST(token, `${HEAD}Transfer-Encoding: chunked\r\n`)}zz\r\n`),
  // Two requests in one, told apart in two ways.
  ...[
    'Content-Length: 5\r\nContent-Length: 6\r\n',
    'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n',
    'Content-Length: +5\r\n',
    'Transfer-Encoding: chunked\r\n x: y\r\n',
    ...['xchunked', 'gzip, chunked', 'identity, chunked', 'chunked, chunked', ', chunked', 'chunked;a=b, chunked'].map(
      (coding) => `Transfer-Encoding: ${coding}\r\n`,
    ),
    'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n',
  ].map((framing) =>
    noRequest(JSON.stringify(framing), (token) => `${POST(token, `Host: x\r\n${framing}`)}${BEHIND(token)}`),
  ),
  noRequest('chunks in HTTP/1.0', (token) => {
    const fields = 'Host: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n';
    return `${POST(token, fields, 'HTTP/1.0')}${BEHIND(token)}`;
  }),
  // RFC 9112, section 3.2.
  ...['a b', 'a/../b', 'a@b', 'a:b', '[::1', 'a, b'].map((host) =>
    noRequest(`a Host that is none: ${host}`, (token) => {
      const fields = `Host: ${host}\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n`;
      return `GET /plants HTTP/1.1\r\n${fields}\r\n`;
    }),
  ),
  ...['HTTP/1.1', 'HTTP/1.0'].flatMap((version) =>
    ['plants', 'others'].map((second) =>
      noRequest(`two Host headers in ${version}: ${second}`, (token) => {
        const fields = `Host: plants\r\nhost: ${second}\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n`;
        return `GET /plants ${version}\r\n${fields}\r\n`;
      }),
    ),
  ),
];
