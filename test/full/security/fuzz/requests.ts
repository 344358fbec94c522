import { METHODS as HTTP_METHODS } from 'node:http';
import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  ScalarType,
  toBinary,
  toJsonString,
} from '@bufbuild/protobuf';
import { TimestampSchema, timestampFromMs } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { AuditService } from '../../../../gen/plantstore/v1/audit_service_pb.ts';
import { PlantStoreService } from '../../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { OF_NOBODY, REFUSED, TAKEN } from '../../../api/rest-edges.ts';
import { int64Arbitrary, textArbitrary } from '../../../support/arbitraries.ts';
import type { RequestParts } from '../../../support/http.ts';
import { mutationArbitrary, seldom } from './mutations.ts';

/** A request over HTTP/1.1, or what is left of one. */
export interface HttpRequest {
  /** Its bytes, one for each character. */
  readonly text: string;
  readonly method: string;
  readonly target: string;
  /** It is a request of HTTP, whole, and its answer is finite: one must come, and the connection must end after it. */
  readonly whole: boolean;
}

/** A request before it is written down. */
interface Draft {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly string[];
  readonly body: Buffer | undefined;
  readonly finite: boolean;
}

/** Bytes of the longest request that is sent as it is in the table. */
const LONGEST = 70_000;

function draftOf(method: string, target: string, { headers = {}, body }: RequestParts): Draft {
  const all = { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers };
  const lines = Object.entries(all).flatMap(([name, value]) => [value ?? []].flat().map((one) => `${name}: ${one}`));
  return { method, target, headers: lines, body: body === undefined ? undefined : Buffer.from(body), finite: true };
}

const isShort = ({ target, body }: Draft) => target.length + (body?.length ?? 0) < LONGEST;

/**
 * The requests whose answers test/api/rest-edges.test.ts knows, and the bodies that are plants, which come more often.
 */
const EDGES = [...REFUSED, ...OF_NOBODY].map(({ method, path, parts }) => draftOf(method, path, parts)).filter(isShort);
const ADDS = TAKEN.map(([body, , parts]) => draftOf('POST', '/plants', { ...parts, body }))
  .filter(({ headers }) => !headers.some((line) => /^(transfer-encoding|content-length)/.test(line)))
  .filter(isShort);
const DELETE = draftOf('DELETE', '/plants/7', {});

/** Few ids, so that adds and deletes meet, and any. */
const idArbitrary = fc.oneof(fc.bigInt({ min: 0n, max: 49n }), int64Arbitrary);

/** The same request about another plant. */
const about = (draft: Draft, id: bigint): Draft => ({
  ...draft,
  target: draft.target.replace(/^\/plants\/7$/, `/plants/${id}`),
  body: draft.body && Buffer.from(draft.body.toString('latin1').replace('"id":7', `"id":${id}`), 'latin1'),
});

const valueArbitrary = (field: DescField): fc.Arbitrary<unknown> => {
  if (field.fieldKind === 'message')
    return field.message.typeName === TimestampSchema.typeName
      ? fc.integer({ min: 0 }).map(timestampFromMs)
      : initArbitrary(field.message);
  if (field.fieldKind === 'enum') return fc.constantFrom(...field.enum.values.map(({ number }) => number));
  if (field.scalar === ScalarType.BOOL) return fc.boolean();
  if (field.scalar === ScalarType.INT64) return idArbitrary;
  return field.scalar === ScalarType.INT32 ? fc.integer({ min: -1, max: 50 }) : textArbitrary;
};

/** Any members that a message may have. */
const initArbitrary = ({ members }: DescMessage): fc.Arbitrary<object> =>
  fc.record(
    Object.fromEntries(
      members.map((member) => [
        member.localName,
        member.kind === 'field'
          ? valueArbitrary(member)
          : fc.oneof(
              ...member.fields.map((field) => valueArbitrary(field).map((value) => ({ case: field.localName, value }))),
            ),
      ]),
    ),
    { requiredKeys: [] },
  );

/** A call of a method over Connect or gRPC-Web, in any form. */
const callArbitrary = ({ parent, name, input }: DescMethod): fc.Arbitrary<Draft> =>
  fc
    .tuple(
      initArbitrary(input),
      fc.constantFrom('json', 'proto', 'connect+json', 'connect+proto', 'grpc-web+proto', 'grpc-web-text'),
    )
    .map(([init, form]) => {
      const message = create(input, init as never);
      const encoded = Buffer.from(form.endsWith('json') ? toJsonString(input, message) : toBinary(input, message));
      return {
        method: 'POST',
        target: `/${parent.typeName}/${name}`,
        headers: [`Content-Type: application/${form}`],
        body: form === 'json' || form === 'proto' ? encoded : enveloped(encoded),
        finite: !/^(ReadEvents|WatchPlants)$/.test(name),
      };
    });

const CALLS = [...PlantStoreService.methods, ...AuditService.methods].map(callArbitrary);

const draftArbitrary = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...EDGES) },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constantFrom(DELETE, ...ADDS), idArbitrary).map(([draft, id]) => about(draft, id)),
  },
  { weight: 3, arbitrary: fc.oneof(...CALLS) },
);

/** Headers that few requests have. */
const ODD = [
  ...['Expect: 100-continue', 'Expect: x', 'Content-Encoding: gzip', 'Upgrade: websocket', 'Upgrade: h2c'],
  ...['Connection: upgrade', 'Accept-Encoding: gzip', 'Accept: text/html', 'Origin: https://app.test', 'TE: trailers'],
  ...['Range: bytes=0-1', 'If-None-Match: "x"', 'X-HTTP-Method-Override: DELETE', 'Content-Type: text/plain'],
  ...['Host: a/b', 'Connect-Timeout-Ms: 1', 'Connect-Protocol-Version: 2', 'Connect-Content-Encoding: br'],
  ...[
    'grpc-timeout: 1m',
    'grpc-encoding: gzip',
    'X-Request-Id: mine',
    'Idempotency-Key: "a"',
    `X: ${'x'.repeat(9_000)}`,
  ],
  ...['traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'Connect-Timeout-Ms: 99999999999'],
];

/** How a body is told: as it should be, or not. */
const framingArbitrary = fc.oneof(
  { weight: 10, arbitrary: fc.constant('right' as const) },
  { weight: 2, arbitrary: fc.constant('chunked' as const) },
  { weight: 1, arbitrary: fc.constantFrom('short', 'long', 'both', 'none', 'no number') },
);

/** Requests with one of these tokens, one like them, or none, of which some are no HTTP any more. */
export const httpArbitrary = (tokens: readonly string[]): fc.Arbitrary<HttpRequest> =>
  fc
    .record({
      draft: draftArbitrary,
      otherMethod: seldom(fc.constantFrom(...HTTP_METHODS.filter((method) => method !== 'CONNECT')), 12),
      authorization: authorizationArbitrary(tokens),
      odd: fc.array(fc.constantFrom(...ODD), { maxLength: 2 }),
      changes: fc.record({
        target: seldom(mutationArbitrary, 6),
        header: seldom(mutationArbitrary, 6),
        body: seldom(mutationArbitrary, 3),
        all: seldom(mutationArbitrary, 5),
      }),
      framing: framingArbitrary,
    })
    .map(({ draft, otherMethod, authorization, odd, changes, framing }) => {
      const method = otherMethod ?? draft.method;
      const target = changed(draft.target, changes.target).replaceAll(/[^\x21-\x7e]/g, '');
      const [first, ...rest] = [...authorization, ...draft.headers, ...odd];
      const headers = first === undefined ? [] : [changed(first, changes.header), ...rest];
      const fields = ['Host: plants', 'Connection: close', ...headers.map(printable)];
      const body = draft.body && (changes.body?.(draft.body) ?? draft.body);
      const bytes = write(`${method} ${target} HTTP/1.1`, fields, body, framing);
      // What is refused before its method is known is answered with a body, even if it was a HEAD.
      const isRead = target.startsWith('/') && (method !== 'HEAD' || bytes.length < 16_000);
      const isHttp = ['right', 'chunked'].includes(framing) && !changes.header && !changes.all;
      const text = (changes.all?.(bytes) ?? bytes).toString('latin1');
      return { text, method, target, whole: draft.finite && isRead && isHttp };
    });

/** The Authorization header in its forms. */
const authorizationArbitrary = (tokens: readonly string[]): fc.Arbitrary<string[]> =>
  fc.oneof(
    { weight: 14, arbitrary: fc.constantFrom(...tokens).map((token) => [`Authorization: Bearer ${token}`]) },
    { weight: 1, arbitrary: fc.constant<string[]>([]) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom(...tokens), mutationArbitrary)
        .map(([token, mutate]) => [`Authorization: Bearer ${changed(token, mutate)}`]),
    },
  );

const changed = (text: string, change: ((bytes: Buffer) => Buffer) | undefined): string =>
  change === undefined ? text : change(Buffer.from(text, 'latin1')).toString('latin1');

/** What a header may hold of a text. */
const printable = (text: string): string => text.replaceAll(/[^\x20-\x7e\xa0-\xff]/g, '');

function write(line: string, fields: string[], body: Buffer | undefined, framing: string): Buffer {
  const head = (...length: string[]) => Buffer.from(`${[line, ...fields, ...length].join('\r\n')}\r\n\r\n`, 'latin1');
  if (body === undefined) return head();
  if (framing === 'chunked') return Buffer.concat([head('Transfer-Encoding: chunked'), ...chunksOf(body)]);
  const length = `Content-Length: ${body.length}`;
  if (framing === 'right') return Buffer.concat([head(length), body]);
  if (framing === 'short') return Buffer.concat([head(`Content-Length: ${body.length >> 1}`), body]);
  if (framing === 'long') return Buffer.concat([head(`Content-Length: ${body.length * 2 + 1}`), body]);
  if (framing === 'both') return Buffer.concat([head(length, 'Transfer-Encoding: chunked'), body]);
  return Buffer.concat([framing === 'none' ? head() : head('Content-Length: +7'), body]);
}

function chunksOf(body: Buffer): Buffer[] {
  const chunk = body.length === 0 ? [] : [Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')];
  return [...chunk, Buffer.from('0\r\n\r\n')];
}

/** A message in the envelope of a stream. */
function enveloped(message: Buffer): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
