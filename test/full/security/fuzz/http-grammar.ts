import { METHODS as HTTP_METHODS } from 'node:http';
import fc from 'fast-check';
import {
  binaryOf,
  bodyArbitrary,
  callArbitrary,
  cursorArbitrary,
  idArbitrary,
  jsonOf,
  mutationArbitrary,
  seldom,
  strangeArbitrary,
} from './values.ts';

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

const methodArbitrary = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('GET', 'POST', 'DELETE', 'HEAD') },
  { weight: 1, arbitrary: fc.constantFrom(...HTTP_METHODS.filter((method) => method !== 'CONNECT')) },
);

const segmentArbitrary = fc.oneof(
  { weight: 6, arbitrary: idArbitrary.map(String) },
  { weight: 1, arbitrary: strangeArbitrary.map(escaped) },
  { weight: 1, arbitrary: fc.constantFrom('%', '%zz', '%00', '%c3%28', '%2e%2e%2f', '..', '', '7/8', '{"$gt":""}') },
);

const queryArbitrary = fc
  .array(
    fc.oneof(
      fc.integer({ min: -2, max: 60 }).map((limit) => `limit=${limit}`),
      cursorArbitrary.map((cursor) => `cursor=${escaped(cursor)}`),
      strangeArbitrary.map((value) => `limit=${escaped(value)}`),
      fc.constantFrom('limit', 'limit[$gt]=1', 'limit=2147483648', '__proto__=1', 'a%ZZ=1', '&&', '?', 'cursor=%ff'),
      strangeArbitrary.map((value) => `${escaped(value)}=1`),
    ),
    { maxLength: 3 },
  )
  .map((parameters) => (parameters.length === 0 ? '' : `?${parameters.join('&')}`));

const targetArbitrary = fc.oneof(
  { weight: 6, arbitrary: queryArbitrary.map((query) => `/plants${query}`) },
  { weight: 5, arbitrary: segmentArbitrary.map((segment) => `/plants/${segment}`) },
  { weight: 1, arbitrary: segmentArbitrary.map((segment) => `/docs/${segment}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...['/', '*', '/openapi.json', '/docs', '/console/assets/x', '//plants', '/plants/7/', '/plants#x'],
      ...['/log/checkpoint', 'http://plants/plants', 'plants', '/%70lants', '/docs/%2e%2e/x'],
    ),
  },
);

const contentTypeArbitrary = fc.oneof(
  { weight: 8, arbitrary: fc.constant('application/json') },
  { weight: 1, arbitrary: fc.constantFrom('text/plain', 'application/json; charset=latin1', 'application/grpc', '') },
  { weight: 1, arbitrary: strangeArbitrary.map(printable) },
);

const oddHeaderArbitrary = fc.oneof(
  fc.constantFrom(
    ...['Expect: 100-continue', 'Expect: x', 'Content-Encoding: gzip', 'Upgrade: websocket', 'Upgrade: h2c'],
    ...[
      'Connection: upgrade',
      'Accept-Encoding: gzip',
      'Accept: text/html',
      'Origin: https://app.test',
      'Range: bytes=0-1',
    ],
    ...[
      'If-None-Match: "x"',
      'X-HTTP-Method-Override: DELETE',
      'Content-Type: text/plain',
      'Host: a/b',
      'TE: trailers',
    ],
  ),
  strangeArbitrary.map((value) => `X-Request-Id: ${printable(value)}`),
  strangeArbitrary.map((value) => `Idempotency-Key: "${printable(value)}"`),
  strangeArbitrary.map((value) => `traceparent: ${printable(value)}`),
  fc.nat(2_000).map((count) => `X-Many: ${'x'.repeat(count * 16)}`),
);

const restArbitrary: fc.Arbitrary<Draft> = fc.record({
  method: methodArbitrary,
  target: targetArbitrary,
  headers: fc
    .tuple(contentTypeArbitrary, fc.array(oddHeaderArbitrary, { maxLength: 2 }))
    .map(([type, odd]) => [`Content-Type: ${type}`, ...odd]),
  body: fc.option(bodyArbitrary, { nil: undefined, freq: 2 }),
  finite: fc.constant(true),
});

/** The request that adds a plant comes often enough to succeed. */
const addArbitrary: fc.Arbitrary<Draft> = fc.record({
  method: fc.constant('POST'),
  target: fc.constant('/plants'),
  headers: fc.constant(['Content-Type: application/json']),
  body: bodyArbitrary,
  finite: fc.constant(true),
});

const connectArbitrary: fc.Arbitrary<Draft> = fc
  .record({
    call: callArbitrary,
    form: fc.constantFrom('json', 'proto', 'connect+json', 'connect+proto', 'grpc-web+proto', 'grpc-web-text'),
    mutation: seldom(mutationArbitrary, 4),
    headers: fc.array(
      fc.oneof(
        strangeArbitrary.map((value) => `Connect-Timeout-Ms: ${printable(value)}`),
        fc.constantFrom('Connect-Timeout-Ms: 1', 'Connect-Protocol-Version: 2', 'Connect-Content-Encoding: br'),
        fc.constantFrom('Connect-Accept-Encoding: gzip', 'grpc-timeout: 1m', 'grpc-encoding: gzip'),
        oddHeaderArbitrary,
      ),
      { maxLength: 2 },
    ),
  })
  .map(({ call: { method, ends, sent }, form, mutation = (bytes: Buffer) => bytes, headers }) => {
    const message = mutation(form.endsWith('json') ? jsonOf(sent) : binaryOf(sent));
    const isUnary = form === 'json' || form === 'proto';
    return {
      method: 'POST',
      target: `/${method}`,
      headers: [`Content-Type: application/${form}`, ...headers],
      body: isUnary ? message : enveloped(message),
      finite: ends,
    };
  });

const draftArbitrary = fc.oneof(
  { weight: 5, arbitrary: restArbitrary },
  { weight: 3, arbitrary: addArbitrary },
  { weight: 3, arbitrary: connectArbitrary },
);

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
      authorization: authorizationArbitrary(tokens),
      framing: framingArbitrary,
      mutations: fc.oneof(
        { weight: 4, arbitrary: fc.constant<((bytes: Buffer) => Buffer)[]>([]) },
        { weight: 1, arbitrary: fc.array(mutationArbitrary, { maxLength: 3 }) },
      ),
    })
    .map(({ draft, authorization, framing, mutations }) => {
      const { method, target, headers, body, finite } = draft;
      const fields = ['Host: plants', 'Connection: close', ...authorization, ...headers];
      const bytes = write(`${method} ${target} HTTP/1.1`, fields, body, framing);
      // What is refused before its method is known is answered with a body, even if it was a HEAD.
      const isRead = target.startsWith('/') && (method !== 'HEAD' || bytes.length < 16_000);
      const whole = finite && isRead && (framing === 'right' || framing === 'chunked') && mutations.length === 0;
      const text = mutations.reduce((changed, mutate) => mutate(changed), bytes).toString('latin1');
      return { text, method, target, whole };
    });

/** The Authorization header in its forms. */
const authorizationArbitrary = (tokens: readonly string[]): fc.Arbitrary<string[]> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...tokens).map((token) => [`Authorization: Bearer ${token}`]) },
    { weight: 1, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: strangeArbitrary.map((text) => [`Authorization: Bearer ${printable(text)}`]) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom(...tokens), mutationArbitrary)
        .map(([token, mutate]) => [
          `Authorization: Bearer ${printable(mutate(Buffer.from(token)).toString('latin1'))}`,
        ]),
    },
  );

function write(line: string, fields: string[], body: Buffer | undefined, framing: string): Buffer {
  const head = (...length: string[]) => Buffer.from(`${[line, ...fields, ...length].join('\r\n')}\r\n\r\n`);
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

function escaped(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** What a header may hold of a text. */
function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e\xa0-\xff]/g, '');
}
