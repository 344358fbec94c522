import { randomUUID } from 'node:crypto';
import { METHODS } from 'node:http';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { client, type Send } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import type { Document } from './openapi.ts';

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

test('is an OpenAPI 3.1 document, without a token, the same for the page that shows it', async () => {
  expect(await new Validator().validate(JSON.parse(text))).toMatchObject({ valid: true });
  expect(document).toMatchObject({ openapi: expect.stringMatching(/^3\.1\./) });
  const page = await nobody('GET', '/docs');
  expect(page.headers['content-security-policy']).toMatch(
    /default-src 'none'; script-src 'self';.* frame-ancestors 'none'/,
  );
  const [, script] = /src="([^"]+\/start-[^"]+)"/.exec(page.text)!;
  expect((await nobody('GET', script!)).text).toContain('"/openapi.json"');
});

test('is revalidated by its tag', async () => {
  const { headers } = await nobody('GET', '/openapi.json');
  expect(headers['cache-control']).toBe('no-cache');
  const again = await nobody('GET', '/openapi.json', { headers: { 'if-none-match': headers.etag! } });
  expect([again.status, again.headers.etag, again.text]).toEqual([304, headers.etag, '']);
});

test('has the bounds of an int64 with all their digits', () => {
  expect(text).toMatch(/"minimum": -9223372036854775808,\s+"maximum": 9223372036854775807/);
});

test('warns at each int64, and says what keeps its digits', () => {
  const { paths, components, info } = JSON.parse(text);
  const ids = [
    ...['Plant', 'NewPlant'].map((name) => components.schemas[name].properties.id),
    ...['get', 'delete'].map((verb) => paths['/plants/{id}'][verb].parameters[0].schema),
  ];
  for (const { format, description } of ids)
    expect({ format, description }).toEqual({ format: 'int64', description: expect.stringMatching(/silently round/) });
  // Of the contract, whatever release serves it.
  expect(info.version).toBe('1.0.0');
  expect(info.description).toMatch(/`plantstore-client`/);
});

test('names its server, and describes each tag that an operation has', () => {
  expect(document.servers).toEqual([{ url: '/' }]);
  const used = Object.values(document.paths).flatMap((path) => Object.values(path).flatMap(({ tags }) => tags));
  expect(document.tags).toEqual([...new Set(used)].map((name) => ({ name, description: expect.any(String) })));
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

test('no parameter has an example, since a page that tries requests out would send it', () => {
  expect(JSON.stringify((document.components as unknown as { parameters: object }).parameters)).not.toContain(
    'example',
  );
});

test('takes no empty parameter of a query, as the service takes none', async () => {
  const ask = await newOwner();
  const inQuery = document.paths['/plants']!.get!.parameters.filter((one) => 'in' in one && one.in === 'query');
  expect(inQuery.length).toBeGreaterThan(0);
  for (const parameter of inQuery) {
    const { name, schema } = parameter as Exclude<typeof parameter, { $ref: string }>;
    const validate = new Ajv2020({ formats: { int32: true } }).compile(schema);
    const { status } = await ask('GET', `/plants?${name}=`);
    expect({ name, status, taken: validate('') }).toEqual({ name, status: 400, taken: false });
  }
});

test('takes the bodies that the service takes, and refuses those that it refuses', async () => {
  const ajv = new Ajv2020({ formats: { int32: true, int64: true }, keywords: ['components'] });
  const validate = ajv.compile({ $ref: '#/components/schemas/NewPlant', components: document.components });
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
