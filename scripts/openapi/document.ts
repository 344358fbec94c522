// Writes the OpenAPI document of the google.api.http rules to a file, by default gen/openapi.json.
import { writeFileSync } from 'node:fs';
import { type DescField, type DescMessage, type DescService, getOption } from '@bufbuild/protobuf';
import { FieldBehavior, field_behavior } from '../../gen/google/api/field_behavior_pb.ts';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { ERRORS } from '../../src/domain/errors.ts';
import { CACHING, EVENT_STREAM } from '../../src/transport/http/headers.ts';
import { type HttpRule, httpRulesOf, isOptional, typeOf } from '../../src/transport/rest/http-rule.ts';
import { ANSWERS, FAILURES, FIELD_TEXTS, IDEMPOTENCY_KEY, INT64_ADVICE, INT64_WARNING, METHODS, TAGS } from './text.ts';

const JSON_BODY = 'application/json';

/** Version of the contract, and not of the release that serves it (semver.org). No path contains it. */
const INTERFACE_VERSION = '1.0.0';

/** The OpenAPI 3.1 document of a service's google.api.http rules. */
function openApiDocument(service: DescService): object {
  const rules = httpRulesOf(service);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Plant Store',
      version: INTERFACE_VERSION,
      description:
        'Every failure has an Error as its body, and a stable reason in `Plantstore-Reason`. An unsupported method gets 405 with `Allow`, and what is no method of HTTP gets 400; an unknown path gets ' +
        `404. Unknown query parameters and unknown members of a body are ignored.\n\n${INT64_ADVICE}`,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // The default of OpenAPI, which linters and generators want to be written down: the host that serves the document.
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ bearer: [] }],
    paths: pathsOf(rules),
    components: {
      schemas: {
        ...Object.fromEntries(rules.flatMap(messagesOf).map((message) => [message.name, messageSchema(message)])),
        Error: ERROR,
      },
      parameters: { 'Idempotency-Key': IDEMPOTENCY_KEY },
      headers: HEADERS,
      responses: failures(),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
    },
  };
}

const CODES = [...new Set(Object.values(ERRORS).map(({ code }) => code))].sort((a, b) => a - b);

const ERROR: Schema = {
  type: 'object',
  required: ['error', 'message'],
  properties: {
    error: {
      type: 'integer',
      format: 'int32',
      // Not an enum: generators would make a closed type of it, and of the name of its schema.
      description: `Number of the google.rpc.Code: ${CODES.join(', ')}.`,
    },
    message: {
      type: 'string',
      description: 'What is wrong, and what to do about it. The text may change; use `Plantstore-Reason` in programs.',
    },
  },
};

const HEADERS: Schema = {
  'Cache-Control': {
    description: 'Only the browser may cache the list, and must revalidate it before each use.',
    schema: { type: 'string', const: CACHING },
  },
  ETag: {
    description:
      'Strong validator of the list, identical on every instance (RFC 9110). Absent if a long list is streamed.',
    schema: { type: 'string' },
  },
  'Idempotency-Replayed': {
    description: 'Present if the response is replayed from an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
  Link: {
    description: 'Present if `limit` cut the list: `<...>; rel="next"` is the URL of the next page (RFC 8288).',
    schema: { type: 'string' },
  },
  'Plantstore-Position': {
    description: 'Log position of the event that this request created.',
    schema: { type: 'integer', format: 'int64', minimum: 1 },
  },
  'Plantstore-Reason': {
    description:
      'Stable reason of the failure, for programs. It equals `reason` of the ErrorInfo over gRPC and Connect.',
    schema: { type: 'string', enum: Object.keys(ERRORS) },
  },
  'Retry-After': { description: 'Seconds to wait before a retry.', schema: { type: 'integer', minimum: 0 } },
  'WWW-Authenticate': { description: 'What is wrong with the token (RFC 6750).', schema: { type: 'string' } },
  'X-Request-Id': {
    description:
      "The request id under which the service's log has this failure: yours if you sent one of up to 64 letters, digits, `_`, `.` and `-`, otherwise generated.",
    schema: { type: 'string' },
  },
};

/** A list with `Accept: text/event-stream`. */
const EVENTS = {
  [EVENT_STREAM]: {
    schema: {
      type: 'string',
      description:
        'The list and then every change to it, as server-sent events (WHATWG HTML): `added` for each plant, `ready` with `{"position":12}`, then ' +
        '`added` and `deleted` with the position as `id`. `reset` means: discard all plants; the complete list follows. `end` with an Error comes when the token expires.',
    },
  },
};

const LAST_EVENT_ID: Schema = {
  name: 'Last-Event-ID',
  in: 'header',
  description: 'For event streams only: the `id` of the last event that you received. The stream continues after it.',
  schema: { type: 'string' },
};

const IF_NONE_MATCH: Schema = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The `ETag` of the list that you have. If the list has not changed, the answer is 304 without a body.',
  schema: { type: 'string' },
};

const isList = ({ responseField }: HttpRule): boolean => responseField?.fieldKind === 'list';

const headers = (...names: string[]): Schema =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

function messagesOf({ bodyField, responseField }: HttpRule): DescMessage[] {
  return [bodyField, responseField].flatMap((field) => field?.message ?? []);
}

const changesPlants = ({ verb }: HttpRule): boolean => verb !== 'GET';

/** HEAD, which every GET has too (RFC 9110, section 9.3.2), is left out. */
const pathsOf = (rules: readonly HttpRule[]): Schema =>
  Object.fromEntries(
    [...Map.groupBy(rules, ({ path }) => path)].map(([path, same]) => [
      path,
      Object.fromEntries(same.map((rule) => [rule.verb.toLowerCase(), operation(rule)])),
    ]),
  );

function operation(rule: HttpRule): Schema {
  const { method, pathFields, queryFields, bodyField } = rule;
  return {
    operationId: method.localName,
    tags: [rule.path.split('/')[1]],
    ...METHODS[`${method.parent.typeName}.${method.name}`],
    parameters: [
      ...pathFields.map((field) => ({ name: field.name, in: 'path', required: true, schema: fieldSchema(field) })),
      ...queryFields.map((field) => ({ name: field.jsonName, in: 'query', schema: fieldSchema(field) })),
      ...(changesPlants(rule) ? [{ $ref: '#/components/parameters/Idempotency-Key' }] : []),
      ...(isList(rule) ? [IF_NONE_MATCH, LAST_EVENT_ID] : []),
    ],
    ...(bodyField && {
      requestBody: { required: true, content: { [JSON_BODY]: { schema: fieldSchema(bodyField) } } },
    }),
    responses: { ...success(rule), ...failuresOf(rule) },
  };
}

function success(rule: HttpRule): Schema {
  const { method, responseField } = rule;
  const names = method.output.fields.map(({ name }) => name);
  const sent = headers(
    ...(names.includes('position') ? ['Plantstore-Position'] : []),
    ...(changesPlants(rule) ? ['Idempotency-Replayed'] : []),
    ...(names.includes('next_cursor') ? ['Link'] : []),
    ...(isList(rule) ? ['ETag', 'Cache-Control'] : []),
  );
  if (responseField === undefined) return { 204: { description: 'Done.', headers: sent } };
  const answers = Object.entries(ANSWERS[`${method.parent.typeName}.${method.name}`] ?? {});
  const examples = Object.fromEntries(answers.map(([asked, value]) => [asked, { value }]));
  const content = { [JSON_BODY]: { schema: fieldSchema(responseField), examples }, ...(isList(rule) && EVENTS) };
  return {
    200: { description: 'Done.', headers: sent, content },
    ...(isList(rule) && { 304: { description: 'The list has not changed.', headers: sent } }),
  };
}

/** The failures of a method, by status: references into the components. */
function failuresOf(rule: HttpRule): Schema {
  const statuses = [
    ...[400, 401, 403, 408, 429, 500, 503],
    ...(rule.pathFields.length > 0 ? [404] : []),
    ...(rule.bodyField === undefined ? [] : [413, 415]),
    ...(changesPlants(rule) ? [422] : []),
  ];
  return Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${status}` }]));
}

/** The failures of all methods, by status. */
function failures(): Schema {
  const reasons = Object.keys(FAILURES) as (keyof typeof FAILURES)[];
  return Object.fromEntries(
    [...Map.groupBy(reasons, (reason) => ERRORS[reason].status)].map(([status, same]) => [
      status,
      {
        description: same
          .map((reason) => `\`${reason}\` (\`error\` ${ERRORS[reason].code}): ${FAILURES[reason]}.`)
          .join('\n\n'),
        headers: headers('Plantstore-Reason', 'X-Request-Id', ...(FAILURE_HEADERS[status] ?? [])),
        content: { [JSON_BODY]: { schema: { $ref: '#/components/schemas/Error' }, examples: examples(same) } },
      },
    ]),
  );
}

const examples = (reasons: readonly (keyof typeof FAILURES)[]): Schema =>
  Object.fromEntries(
    reasons.map((reason) => [reason, { value: { error: ERRORS[reason].code, message: FAILURES[reason] } }]),
  );

const FAILURE_HEADERS: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** A JSON Schema (draft 2020-12, which OpenAPI 3.1 uses), as JSON.stringify takes it. */
type Schema = Readonly<Record<string, unknown>>;

/** Whether a caller must set the field (AIP-203), or a response always has it. */
const isRequired = (field: DescField): boolean =>
  !isOptional(field) || getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);

/** The schema of a message's JSON form. */
function messageSchema(message: DescMessage): Schema {
  return {
    type: 'object',
    required: message.fields.filter(isRequired).map(({ jsonName }) => jsonName),
    properties: Object.fromEntries(message.fields.map((field) => [field.jsonName, fieldSchema(field)])),
  };
}

/** The schema of a field's JSON form. Messages are references into the components. */
function fieldSchema(field: DescField): Schema {
  if (field.fieldKind === 'list') return { type: 'array', items: reference(field.message!) };
  if (field.fieldKind === 'message') return reference(field.message);
  const type = typeOf(field);
  const more = FIELD_TEXTS[fullName(field)];
  switch (type.kind) {
    case 'string':
      return { type: 'string', ...more };
    case 'integer':
      return {
        ...{ type: 'integer', format: type.format, minimum: exact(type.min), maximum: exact(type.max), ...more },
        ...(type.format === 'int64' && { description: [more?.description, INT64_WARNING].filter(Boolean).join(' ') }),
      };
    case 'enum':
      return { type: 'string', enum: [...type.values.keys()], ...more };
  }
}

/** Full name of a field, such as `plantstore.v1.Plant.name`. */
const fullName = (field: DescField): string => `${field.parent.typeName}.${field.name}`;

const reference = (message: DescMessage): Schema => ({ $ref: `#/components/schemas/${message.name}` });

/** An integer that JSON.stringify writes with all its digits. */
const exact = (value: bigint): unknown => JSON.rawJSON(String(value));

const [, , path = 'gen/openapi.json'] = process.argv;
writeFileSync(path, `${JSON.stringify(openApiDocument(PlantStoreService), undefined, 2)}\n`);
