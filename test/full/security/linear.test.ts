import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeExport } from '../../../src/audit/formats/formats.ts';
import { createLogger } from '../../../src/observe/logger.ts';
import { cpuOf, growthOf } from '../../support/cpu-growth.ts';
import { client, type Send } from '../../support/http.ts';
import { type Service, startService } from '../../support/service.ts';
import { count } from '../../support/soak.ts';

/** How many times work of twice the size may cost: linear work costs twice as much at most, quadratic 4 times. */
const LIMIT = 3;

/** Bytes of a body, and of a header, a query or a path. Twice as many are within the limits of each. */
const BODY = 24 * 1024;
const LINE = 12 * 1024;

/** Text of a size: what it begins with, what is repeated, and what it ends with. */
interface Shape {
  readonly start: string;
  readonly unit: string;
  readonly end: string;
}

const textOf = ({ start, unit, end }: Shape, size: number): string =>
  start + unit.repeat(Math.ceil(Math.max(0, size - start.length - end.length) / unit.length)) + end;

const shape = (unit: string, start = '', end = ''): Shape => ({ start, unit, end });

/** Shapes that have stopped one parser or another: what each begins, and does not end. */
const SHAPES: readonly Shape[] = [
  shape('\\"', '1e1"'),
  shape('\\"', '{"id":1e1,"name":"', '"}'),
  shape('\\\\', '{"id":1e1,"name":"', '"}'),
  shape('"'),
  shape('1', '{"id":', '}'),
  shape('0', '{"id":1.', ',"name":"x"}'),
  shape('9', '{"id":7e', ',"name":"x"}'),
  shape('1e1,', '{"id":7,"x":[', '1]}'),
  shape('9007199254740993,', '{"id":7,"x":[', '1]}'),
  shape('"a":1,', '{', '"a":1}'),
  shape('"id":1e0,', '{', '"id":1}'),
  shape('[', '{"id":1e1,"x":'),
  shape('[]', '{"id":1e1,"x":[', ']}'),
  shape('{"a":'),
  shape('{},', '{"id":1e1,"x":[', '{}]}'),
  shape(' ', '{"id":1e1', '}'),
  shape(' ', 'Bearer', 'x'),
  shape(',', '"a"'),
  shape('"a",', 'W/'),
  shape('a=b&'),
  shape('limit=1&'),
  shape('%22'),
  shape('ey-'),
  shape('-'),
  shape('a.'),
  shape('; q=0.1,', 'a/b'),
  shape(';a="\\"', 'application/json'),
];

const TOKENS = [
  ...[' ', '\t', 'Bearer ', '\u00e9'],
  ...String.raw`" \" \\ \u0061 { } [ ] "a": "id": : , 1 0 - . e 1e1`.split(' '),
  ...'a ey ey- access_token= = & ; / % %22 %C3%A9 + * W/ ('.split(' '),
];

/** Any shape of these parts. */
const anyShape: fc.Arbitrary<Shape> = fc.record({
  start: fc.array(fc.constantFrom(...TOKENS), { maxLength: 4 }).map((parts) => parts.join('')),
  unit: fc.array(fc.constantFrom(...TOKENS), { minLength: 1, maxLength: 3 }).map((parts) => parts.join('')),
  end: fc.array(fc.constantFrom(...TOKENS), { maxLength: 2 }).map((parts) => parts.join('')),
});

let service: Service;
let send: Send;
beforeAll(async () => {
  service = await startService();
  send = client(service.url, await service.token('alice', 'plants:audit'));
});
afterAll(async () => expect(await service.stop()).toBe(0));

const RPC = '/plantstore.v1.PlantStoreService';
const GRPC_WEB = 'application/grpc-web+proto';
/** What a header may hold. */
const asHeader = (text: string): string => text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '');
/** What a request line may hold. */
const inLine = (text: string): string => text.replaceAll(/[^\x21-\x7e]/g, (found) => encodeURIComponent(found));

function grpcWeb(text: string): Buffer {
  const message = Buffer.from(text);
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(message.length, 1);
  return Buffer.concat([frame, message]);
}

/**
 * A field `plant` of a CreatePlantRequest which holds the text's bytes: unknown fields, groups and names as they come.
 */
function embedded(text: string): Buffer {
  const inner = Buffer.from(text);
  const length: number[] = [];
  let rest = inner.length;
  for (; rest > 127; rest >>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([0x0a, ...length, rest]), inner]);
}

const header = (name: string) => (text: string) =>
  send('GET', '/plants?limit=1', { headers: { [name]: asHeader(text) } });

/** The ways into the service, each with what a text is sent as, and how long one may be. */
const DOORS: readonly (readonly [string, number, (text: string) => Promise<unknown>])[] = [
  ['REST, the body', BODY, (body) => send('POST', '/plants', { body })],
  ['REST, a name', BODY, (text) => send('POST', '/plants', { body: JSON.stringify({ id: 7, name: text }) })],
  ['REST, the query', LINE, (text) => send('GET', `/plants?${inLine(text)}`)],
  [
    'REST, a cursor',
    LINE,
    (text) => send('GET', `/plants?limit=1&cursor=${encodeURIComponent(text).slice(0, 2 * LINE)}`),
  ],
  ['REST, an id', LINE, (text) => send('DELETE', `/plants/${inLine(text)}`)],
  ['a path', LINE, (text) => send('GET', `/${inLine(text)}`)],
  ...[
    ...['authorization', 'if-none-match', 'idempotency-key', 'content-type', 'accept', 'traceparent', 'x-request-id'],
    ...['origin', 'accept-encoding', 'cookie', 'x-forwarded-for', 'connect-timeout-ms'],
  ].map((name) => [`the header ${name}`, LINE, header(name)] as const),
  ['Connect, JSON', BODY, (body) => send('POST', `${RPC}/CreatePlant`, { body })],
  [
    'Connect, JSON with a number that no double holds',
    BODY,
    (text) => send('POST', `${RPC}/ListPlants`, { body: `{"x":9007199254740993,"y":${JSON.stringify(text)}}` }),
  ],
  [
    'Connect, Content-Type',
    LINE,
    (text) =>
      send('POST', `${RPC}/ListPlants`, {
        body: '{}',
        headers: { 'content-type': asHeader(`application/json; ${text}`) },
      }),
  ],
  [
    'Connect, protobuf',
    BODY,
    (text) =>
      send('POST', `${RPC}/CreatePlant`, { body: embedded(text), headers: { 'content-type': 'application/proto' } }),
  ],
  [
    'gRPC-Web',
    BODY,
    (text) => send('POST', `${RPC}/CreatePlant`, { body: grpcWeb(text), headers: { 'content-type': GRPC_WEB } }),
  ],
  [
    'gRPC-Web, a plant',
    BODY,
    (text) =>
      send('POST', `${RPC}/CreatePlant`, {
        body: grpcWeb(embedded(text).toString('latin1')),
        headers: { 'content-type': GRPC_WEB },
      }),
  ],
];

/** What is read or written in this process. */
const PARSERS: readonly (readonly [string, number, (text: string) => unknown])[] = [
  ['a line of an import', BODY, (text) => drain(decodeExport(Readable.from([Buffer.from(`{"${text}\n`)])))],
  ['an import without a line end, in small chunks', BODY, (text) => drain(decodeExport(chunksOf(`{"${text}`)))],
  ['an import in protobuf, in small chunks', BODY, (text) => drain(decodeExport(chunksOf(text)))],
  [
    'a line of the log',
    BODY,
    (text) => createLogger('info', { write: () => {} }).info({ url: text }, `ey bearer access_token= ${text}`),
  ],
];

const ownCpu = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

async function drain(events: AsyncIterable<unknown>): Promise<void> {
  try {
    for await (const _ of events);
  } catch {
    // Nothing here is an event.
  }
}

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 64) yield bytes.subarray(at, at + 64);
}

const expectLinear = async (name: string, size: number, { read, cpu }: Parser, of: Shape): Promise<void> => {
  const growth = await growthOf({ run: (length) => read(textOf(of, length)), cpu }, size, LIMIT);
  expect(
    growth,
    `${name}: ${JSON.stringify(of)} at twice the size costs ${growth.toFixed(1)} times as much`,
  ).toBeLessThan(LIMIT);
};

/** Something that reads a text, and the CPU that it has used so far. */
interface Parser {
  readonly read: (text: string) => unknown;
  readonly cpu: () => number;
}

/** The system counts what a thread has used once it sleeps: the service may still run when its answer is there. */
const thenAsleep = (read: Parser['read']) => async (text: string) => {
  await read(text);
  await sleep(1);
};

describe.each([
  ...DOORS.map(([name, size, read]) => ({
    ...{ name, size },
    parser: { read: thenAsleep(read), cpu: () => cpuOf(service.pid) },
  })),
  ...PARSERS.map(([name, size, read]) => ({ name, size, parser: { read, cpu: ownCpu } })),
])('$name takes no more than linear time', ({ name, size, parser }) => {
  test('for shapes that have stopped a parser', async () => {
    for (const of of SHAPES) await expectLinear(name, size, parser, of);
  });

  test('for any shape', async () => {
    await fc.assert(
      fc.asyncProperty(anyShape, (of) => expectLinear(name, size, parser, of)),
      { numRuns: count(4, 400) },
    );
  });
});
