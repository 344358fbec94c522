import { randomUUID } from 'node:crypto';
import { METHODS } from 'node:http';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { client, type Reply, type RequestParts, type Send } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';

type Json = Record<string, unknown>;
interface Answer {
  readonly headers?: Readonly<Record<string, Reference>>;
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>;
}
interface Reference {
  readonly $ref: string;
}
interface Document {
  readonly paths: Record<string, Record<string, { readonly responses: Record<string, Answer | Reference> }>>;
  readonly components: {
    readonly schemas: Json;
    readonly headers: Record<string, { readonly schema: Json }>;
    readonly responses: Record<string, Answer>;
  };
}

let service: LocalService;
let text: string;
let document: Document;
let nobody: Send;

beforeAll(async () => {
  service = await startLocalService();
  nobody = client(service.url);
  text = (await nobody('GET', '/openapi.json')).text;
  document = JSON.parse(text);
});

afterAll(() => service.stop());

const newOwner = async (): Promise<Send> => client(service.url, await service.token(randomUUID()));

const ajv = new Ajv2020({ formats: { int32: true, int64: true }, keywords: ['components'] });

/** The check of a schema that may refer to the components. */
const check = (schema: Json): ValidateFunction => ajv.compile({ ...schema, components: document.components });

test('is an OpenAPI 3.1 document, without a token, the same for the page that shows it', async () => {
  expect(await new Validator().validate(JSON.parse(text))).toMatchObject({ valid: true });
  expect(document).toMatchObject({ openapi: expect.stringMatching(/^3\.1\./) });
  const [, script] = /src="([^"]+\/start-[^"]+)"/.exec((await nobody('GET', '/docs')).text)!;
  expect((await nobody('GET', script!)).text).toContain('"/openapi.json"');
});

test('has the bounds of an int64 with all their digits', () => {
  expect(text).toContain('"minimum":-9223372036854775808,"maximum":9223372036854775807');
});

test('warns at each int64, and says what keeps its digits', () => {
  const { paths, components, info } = JSON.parse(text);
  const ids = [
    ...['Plant', 'NewPlant'].map((name) => components.schemas[name].properties.id),
    ...['get', 'delete'].map((verb) => paths['/plants/{id}'][verb].parameters[0].schema),
  ];
  for (const { format, description } of ids)
    expect({ format, description }).toEqual({ format: 'int64', description: expect.stringMatching(/silently round/) });
  expect(info.description).toMatch(/`plantstore-client`/);
});

test('has the paths and methods of the service, and no others', async () => {
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const method of METHODS.filter((name) => name !== 'CONNECT')) {
      const { status } = await nobody(method, path.replace('{id}', '7'));
      expect({ path, method, taken: status !== 405 }).toEqual({
        path,
        method,
        taken: (method === 'HEAD' ? 'get' : method.toLowerCase()) in operations,
      });
      expect(status).not.toBe(404);
    }
  }
});

/** The name of the component that a reference means. */
const lastOf = ({ $ref }: Reference): string => $ref.split('/').at(-1)!;

/** Expects an answer to be one that the document promises. */
function expectPromised(method: string, path: string, reply: Reply): void {
  const answer = document.paths[path]![method.toLowerCase()]!.responses[reply.status];
  const promised =
    answer !== undefined && '$ref' in answer ? document.components.responses[lastOf(answer)] : (answer as Answer);
  expect(promised, `${method} ${path} answered ${reply.status}: ${reply.text}`).toBeDefined();
  const content = promised!.content?.['application/json'];
  expect(content !== undefined, reply.text).toBe(reply.text !== '');
  if (content !== undefined) {
    const validate = check(content.schema);
    expect(validate(JSON.parse(reply.text)), `${reply.text}: ${ajv.errorsText(validate.errors)}`).toBe(true);
  }
  const reason = reply.headers['plantstore-reason'];
  if (reason !== undefined) expect((promised as unknown as Json).description).toContain(`\`${reason}\``);
  for (const name of ['link', 'plantstore-position', 'retry-after', 'www-authenticate', 'x-request-id', 'allow']) {
    const value = reply.headers[name];
    if (value === undefined) continue;
    const header = Object.entries(promised!.headers ?? {}).find(
      ([promisedName]) => promisedName.toLowerCase() === name,
    );
    expect(header, `${name} of ${method} ${path} ${reply.status}`).toBeDefined();
    const { schema } = document.components.headers[lastOf(header![1])]!;
    expect(check(schema)(schema.type === 'integer' ? Number(value) : value)).toBe(true);
  }
}

describe('promises every answer', () => {
  const BODY = '{"id":7,"name":"Fern","tag":"indoor"}';
  const CASES: readonly [string, string, string, RequestParts, number][] = [
    ['POST', '/plants', '/plants', { body: BODY }, 200],
    ['POST', '/plants', '/plants', { body: BODY }, 400],
    ['POST', '/plants', '/plants', { body: '{"id":8,"name":"Moss"}' }, 200],
    ['POST', '/plants', '/plants', { body: '{"id":"8","name":"Moss"}' }, 400],
    ['POST', '/plants', '/plants', { body: '[' }, 400],
    ['POST', '/plants', '/plants', { body: '{"id":9,"name":"Oak"}', headers: { 'idempotency-key': '"k"' } }, 200],
    ['POST', '/plants', '/plants', { body: '{"id":9,"name":"Elm"}', headers: { 'idempotency-key': '"k"' } }, 422],
    ['POST', '/plants', '/plants', { body: BODY, headers: { 'idempotency-key': '"' } }, 400],
    ['POST', '/plants', '/plants', { body: 'x'.repeat(2 ** 21) }, 413],
    ['POST', '/plants', '/plants', { body: BODY, headers: { 'content-type': 'text/plain' } }, 415],
    ['POST', '/plants', '/plants', { headers: { authorization: 'Bearer x' } }, 401],
    ['POST', '/plants', '/plants', { headers: { authorization: 'Basic eDp5' } }, 401],
    ['GET', '/plants', '/plants', {}, 200],
    ['GET', '/plants', '/plants?limit=1', {}, 200],
    ['GET', '/plants', '/plants?limit=-1', {}, 400],
    ['GET', '/plants', '/plants?cursor=x', {}, 400],
    ['GET', '/plants', '/plants', { headers: { authorization: null as never } }, 401],
    ['DELETE', '/plants/{id}', '/plants/7', {}, 204],
    ['DELETE', '/plants/{id}', '/plants/7', {}, 404],
    ['DELETE', '/plants/{id}', '/plants/9', { headers: { 'idempotency-key': '"k"' } }, 422],
    ['DELETE', '/plants/{id}', '/plants/x', {}, 400],
    ['DELETE', '/plants/{id}', '/plants/%ff', {}, 400],
    ['DELETE', '/plants/{id}', '/plants/7', { headers: { authorization: 'Bearer a.b.c' } }, 401],
  ];

  test('in turn, of one owner', async () => {
    const send = await newOwner();
    for (const [method, template, path, parts, status] of CASES) {
      const reply = await send(method, path, parts);
      expect(reply.status, `${method} ${path}: ${reply.text}`).toBe(status);
      expectPromised(method, template, reply);
    }
  });

  test('when a scope is missing', async () => {
    await using strict = await startLocalService({ JWT_REQUIRED_SCOPES: 'plants:read plants:write' });
    const send = client(strict.url, await strict.token('alice', 'other'));
    for (const [method, template, path] of CASES) {
      const reply = await send(method, path, method === 'POST' ? { body: BODY } : {});
      expectPromised(method, template, reply);
    }
  });
});

test('no parameter has an example, since a page that tries requests out would send it', () => {
  expect(JSON.stringify((document.components as unknown as { parameters: object }).parameters)).not.toContain(
    'example',
  );
});

test('takes the bodies that the service takes, and refuses those that it refuses', async () => {
  const validate = check({ $ref: '#/components/schemas/NewPlant' });
  const around = fc.constantFrom('', 'Fern', '\u{1F335}'.repeat(1024), '\u{1F335}'.repeat(1025), 'x'.repeat(1025));
  const anything = fc.oneof(
    around,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true, max: 1e17, min: -1e17 }),
    fc.jsonValue({ maxDepth: 1 }),
  );
  const body = fc.oneof(
    fc.record(
      { id: fc.oneof(fc.maxSafeInteger(), anything), name: anything, tag: anything, more: anything },
      { requiredKeys: [] },
    ),
    fc.record({ id: fc.maxSafeInteger(), name: around, tag: around }, { requiredKeys: ['id', 'name'] }),
    fc.jsonValue(),
  );
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(body, async (value) => {
      const reply = await (await newOwner())('POST', '/plants', { body: JSON.stringify(value) });
      expect(reply.status, `${JSON.stringify(value)}: ${reply.text}`).toBe(validate(value) ? 200 : 400);
      if (reply.status === 200) taken += 1;
    }),
    { numRuns: 300 },
  );
  expect(taken).toBeGreaterThan(0);
});
