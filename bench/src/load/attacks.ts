import { gzipSync } from 'node:zlib';
import { frame as message } from '../../../test/support/raw-grpc.ts';
import type { Target } from './attack.ts';
import type { Attack } from './crowd.ts';
import { FRAME, frame, keptField, LAST_FIELD } from './frames.ts';
import { callHeaders } from './grpc-lines.ts';
import { type Brief, talkBriefly, talkGrpc, talkLateResets, talkResets, talkWindowUpdates } from './grpc-talk.ts';
import { talkHttp } from './http-talk.ts';

const PLANTS = '/plantstore.v1.PlantStoreService';
const HEALTH = '/grpc.health.v1.Health';
const JSON_BODY = 'content-type: application/json';
/** Bytes of a body, a little below what the service takes. */
const BODY = 63 * 1_024;
/** Connections of an attack on gRPC, and calls at once on each. */
const [GRPC_CONNECTIONS, CALLS] = [8, 100];
/** Header lines: as many short ones as 28 KB have; and what this service takes, fewer than 128 lines of 15 KB. */
const [SHORT, LONG] = [28, 120];
const ALLOWED = { count: 124, size: LONG };
/** As many calls as the service lets a connection have. */
const MOST_CALLS = 128;
/** Milliseconds after which late resets come, and after which brief connections leave. */
const [LATE, BRIEFLY] = [5, 100];
const EMPTY = message(Buffer.alloc(0));
/** A field that no message has, so often that it fills 64 KB. */
const UNKNOWN_FIELDS = Buffer.alloc(64_000, Buffer.from([0x78, 0x00]));

/** What the neighbours of a caller do who means no harm: the attacks are compared with it. */
export const HARMLESS = 'harmless';

/** By name: whoever is harmless, and every way that was found to take the service from others. */
export const ATTACKS: Readonly<Record<string, (target: Target) => Attack>> = {
  [HARMLESS]: http(64, ({ token }) => get('/plants', bearer(token))),
  headers: unfinishedHeaders({ count: 980, size: SHORT }),
  'headers-16k': unfinishedHeaders(ALLOWED),
  bodies: missingBodies({ count: 900, size: SHORT }),
  'bodies-16k': missingBodies(ALLOWED),
  pipelining: http(20, () => get('/nope'), { pipelined: 1_000 }),
  openapi: http(200, () => get('/openapi.json'), { pipelined: 1_000 }),
  'openapi-wide': http(2_000, () => get('/openapi.json'), { pipelined: 100 }),
  lists: http(200, ({ token }) => get('/plants', bearer(token)), { pipelined: 200 }),
  accept: commas(30 * 1_024),
  'accept-16k': commas(15 * 1_024),
  'json-rest': http(64, ({ token }) => post('/plants', token, emptyArrays())),
  'json-connect': http(64, ({ token }) => post(`${PLANTS}/CreatePlant`, token, emptyArrays())),
  inflate: grpc(({ token }) => ({
    headers: callHeaders(`${PLANTS}/ListPlants`, { 'grpc-encoding': 'gzip', authorization: `Bearer ${token}` }),
    message: message(gzipSync(UNKNOWN_FIELDS), { compressed: 1 }),
  })),
  'unknown-methods': grpc(() => ({ headers: callHeaders(`${PLANTS}/Nope`), message: EMPTY })),
  resets: ({ grpcPort }) => ({
    port: grpcPort,
    connections: GRPC_CONNECTIONS,
    talk: (socket, count) => talkResets(socket, count, { headers: callHeaders(`${PLANTS}/ListPlants`), atOnce: CALLS }),
  }),
  'late-resets': ({ grpcPort, token }) => ({
    port: grpcPort,
    connections: GRPC_CONNECTIONS,
    talk: (socket, count) => talkLateResets(socket, count, { ...listOf(token), atOnce: CALLS }, LATE),
  }),
  health: grpc(() => ({ headers: callHeaders(`${HEALTH}/Check`), message: EMPTY })),
  'window-updates': ({ grpcPort }) => ({ port: grpcPort, connections: 64, talk: talkWindowUpdates }),
  'large-headers': brief(largeHeaders()),
  'window-settings': brief(windowSettings()),
  'idle-16k': http(9_000, () => get('/plants', ...lines(ALLOWED)), { isRepeated: false }),
  waiting: longHeaders({ count: 960, size: SHORT }),
  'waiting-16k': longHeaders(ALLOWED),
};

/** A call of gRPC for a list of all plants. */
const listOf = (token: string) => ({
  headers: callHeaders(`${PLANTS}/ListPlants`, { authorization: `Bearer ${token}` }),
  message: EMPTY,
});

/** Connections that are open briefly, and come again and again. */
function brief(made: Brief): (target: Target) => Attack {
  return ({ grpcPort }) => ({
    port: grpcPort,
    connections: 64,
    talk: (socket, count) => talkBriefly(socket, count, made, BRIEFLY),
  });
}

/** Health checks with 60 KB of headers each, of which each but the first sends 15 bytes. */
function largeHeaders(): Brief {
  const block = callHeaders(`${HEALTH}/Check`);
  const first = Buffer.concat([block, keptField('fern', 'x'.repeat(4_000))]);
  const further = Buffer.concat([block, ...Array<Buffer>(15).fill(LAST_FIELD)]);
  return { blocks: [first, ...Array<Buffer>(MOST_CALLS - 1).fill(further)], behind: [] };
}

/** Calls, and settings that change the windows of all of them (RFC 9113, section 6.9.2). */
function windowSettings(): Brief {
  const settings = [0xff, 0xfe].map((last) => frame(FRAME.settings, 0, 0, Buffer.of(0, 4, 0, 0, 0xff, last)));
  return {
    blocks: Array<Buffer>(MOST_CALLS).fill(callHeaders(`${PLANTS}/ListPlants`)),
    behind: Array.from({ length: 900 }, (_, index) => settings[index % 2]!),
  };
}

/** Headers that never end. */
function unfinishedHeaders(many: Lines): (target: Target) => Attack {
  return http(6_000, () => unfinished(get('/plants', ...lines(many))), { isRepeated: false });
}

/** Requests without a token, which are answered, and whose bodies never come. */
function missingBodies(many: Lines): (target: Target) => Attack {
  const request = head('POST /plants', JSON_BODY, 'content-length: 10', ...lines(many));
  return http(6_000, () => request, { isRepeated: false });
}

/** Lists of nothing that are dear to read. */
function commas(count: number): (target: Target) => Attack {
  return http(256, () => get('/', `accept: text/html${','.repeat(count)}`));
}

/** Requests that hold as much as they may while they wait. */
function longHeaders(many: Lines): (target: Target) => Attack {
  return http(9_000, ({ token }) => get('/plants', bearer(token), ...lines(many)));
}

/** Sends a request so many times on each connection, and again when all have their answers. */
function http(
  connections: number,
  request: (target: Target) => string,
  { pipelined = 1, isRepeated = true } = {},
): (target: Target) => Attack {
  return (target) => {
    const answers = isRepeated ? pipelined : Infinity;
    const bytes = Buffer.from(request(target).repeat(pipelined), 'latin1');
    return { port: target.port, connections, talk: (socket, count) => talkHttp(socket, count, bytes, answers) };
  };
}

function grpc(calls: (target: Target) => { headers: Buffer; message: Buffer }): (target: Target) => Attack {
  return (target) => {
    const made = { ...calls(target), atOnce: CALLS };
    const talk: Attack['talk'] = (socket, count) => talkGrpc(socket, count, made);
    return { port: target.grpcPort, connections: GRPC_CONNECTIONS, talk };
  };
}

function head(line: string, ...headers: readonly string[]): string {
  return `${[`${line} HTTP/1.1`, 'host: localhost', ...headers].join('\r\n')}\r\n\r\n`;
}
const get = (path: string, ...headers: readonly string[]): string => head(`GET ${path}`, ...headers);
const post = (path: string, token: string, body: string): string =>
  head(`POST ${path}`, bearer(token), JSON_BODY, `content-length: ${body.length}`) + body;
const bearer = (token: string): string => `authorization: Bearer ${token}`;
/** A request without the blank line that ends its headers. */
const unfinished = (request: string): string => request.slice(0, -2);
/** So many header lines of so many bytes, each with its end. */
interface Lines {
  readonly count: number;
  readonly size: number;
}

function lines({ count, size }: Lines): string[] {
  return Array.from({ length: count }, (_, line) =>
    `x-header-${String(line).padStart(4, '0')}: `.padEnd(size - '\r\n'.length, 'a'),
  );
}
const emptyArrays = (): string => `{"a":[${'[],'.repeat((BODY - 10) / 3)}[]]}`;
