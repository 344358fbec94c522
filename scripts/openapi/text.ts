import type { Reason } from '../../src/domain/errors.ts';
import { MAX_TEXT_CODE_POINTS, PLANT_FIELDS } from '../../src/domain/plant.ts';

const VIEW = { default: 'BASIC', description: '`FULL` includes the id of each plant.' };

const textsOfFields = (message: string) =>
  Object.fromEntries(
    PLANT_FIELDS.map(({ name, isRequired, example }) => [
      `${message}.${name}`,
      {
        maxLength: MAX_TEXT_CODE_POINTS,
        description: `Well-formed Unicode${isRequired ? '; may be empty.' : '. Absent and empty are different.'}`,
        examples: [example],
      },
    ]),
  );

/** The note on every int64, after its own description. */
export const INT64_WARNING =
  'A JSON number of up to 64 bits. JSON.parse, and most clients that are generated from this document, silently round ' +
  'integers beyond 2^53.';

/** The advice for that note. */
export const INT64_ADVICE =
  'The service keeps all 64 bits of an integer. **Numbers beyond 2^53 lose digits in clients that read and write JSON numbers as doubles**, ' +
  'as JSON.parse and most generated clients in JavaScript and TypeScript do: such a client stores 9007199254740996 for 9007199254740997, without an error. ' +
  'Keep ids within 2^53, or use a client with exact integers: `plantstore-client` (ids are bigint), or a generated Connect or gRPC client.';

/** JSON Schema keywords for fields, by full name, beyond the descriptors. */
export const FIELD_TEXTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  ...textsOfFields('plantstore.v1.Plant'),
  'plantstore.v1.Plant.id': { description: 'Present only with `view=FULL`.', examples: [7] },
  'plantstore.v1.NewPlant.id': {
    description: 'Any int64. Unique among your plants. After its plant is deleted, the id can be used again.',
    examples: [7],
  },
  ...textsOfFields('plantstore.v1.NewPlant'),
  'plantstore.v1.ListPlantsRequest.limit': {
    description: 'Maximum number of plants; 0 returns an empty list. Absent: all plants.',
  },
  'plantstore.v1.ListPlantsRequest.cursor': {
    minLength: 1,
    description:
      'Continues an earlier list. Follow the `Link` header of that list, or send the value of `cursor` in its URL; do not build one.',
  },
  'plantstore.v1.ListPlantsRequest.view': { ...VIEW },
  'plantstore.v1.GetPlantRequest.view': { ...VIEW },
  'plantstore.v1.GetPlantRequest.id': { description: 'The id that the plant was added with.' },
  'plantstore.v1.DeletePlantRequest.id': { description: 'The id that the plant was added with.' },
};

const PLANT = Object.fromEntries(PLANT_FIELDS.map(({ name, example }) => [name, example]));
const FULL_PLANT = { id: 7, ...PLANT };

/** What methods answer, by full name and by what was asked for. */
export const ANSWERS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'plantstore.v1.PlantStoreService.CreatePlant': { added: PLANT },
  'plantstore.v1.PlantStoreService.GetPlant': { 'view=BASIC': PLANT, 'view=FULL': FULL_PLANT },
  'plantstore.v1.PlantStoreService.ListPlants': { 'view=BASIC': [PLANT], 'view=FULL': [FULL_PLANT] },
};

/** Texts of the tags that group the methods: the first parts of their paths. */
export const TAGS: Readonly<Record<string, string>> = { plants: 'The plants of the owner whom the token names.' };

/** Texts of methods, by full name, beyond the descriptors. */
export const METHODS: Readonly<Record<string, { summary: string; description: string }>> = {
  'plantstore.v1.PlantStoreService.CreatePlant': {
    summary: 'Add a plant',
    description:
      'After a 503, the plant may have been added. Send the request again: with the same `Idempotency-Key` you get the ' +
      'first answer; without a key, `error` 6 says that the plant was added.',
  },
  'plantstore.v1.PlantStoreService.ListPlants': {
    summary: 'List your plants',
    description:
      'Lists plants in ascending order of id, as of one moment that includes every write acknowledged before the request. ' +
      'Without `limit` the array is streamed; if the connection ends before the closing bracket, the list is incomplete. ' +
      'Following the `Link` headers neither skips nor repeats a plant during concurrent adds and deletes. ' +
      'With `Accept: text/event-stream` the response continues with every change; `limit` and `cursor` are not allowed then.',
  },
  'plantstore.v1.PlantStoreService.GetPlant': {
    summary: 'Get a plant',
    description: 'The answer reflects every write acknowledged before the request.',
  },
  'plantstore.v1.PlantStoreService.DeletePlant': {
    summary: 'Delete a plant',
    description:
      'After a 503, the plant may have been deleted. Send the request again: with the same `Idempotency-Key` you get the ' +
      'first answer; without a key, `error` 5 says that the plant was deleted.',
  },
};

/** The header that makes a command repeatable, as a parameter. */
export const IDEMPOTENCY_KEY: Readonly<Record<string, unknown>> = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A unique key for this request, such as a UUID: 1 to 255 characters, with or without quotes ' +
    '(draft-ietf-httpapi-idempotency-key-header). The same request with the same key is not executed again and ' +
    'returns the first answer.',
  // No example: pages that try out requests would send it, and the second request would count as a repetition of the
  // first.
  schema: { type: 'string', minLength: 1 },
};

/** Reasons that no route of the document gives. */
type Elsewhere =
  | ('CANCELLED' | 'COUNT_OUTDATED' | 'EVENT_NOT_FOUND' | 'MAY_NOT_ERASE' | 'METHOD_NOT_ALLOWED')
  | ('OWNER_BEING_ERASED' | 'ROUTE_NOT_FOUND' | 'WATCH_TOO_SLOW');

/** What REST answers with, by reason. */
export const FAILURES = {
  MALFORMED_REQUEST:
    'the request is malformed, its URL and headers exceed 16 KiB, its body is not a JSON object, or has over 1,000 values',
  INVALID_FIELD: 'a value is missing or invalid',
  INVALID_CURSOR: 'the cursor is invalid',
  PLANT_ALREADY_EXISTS: 'you already have a plant with this id',
  IDEMPOTENCY_KEY_MALFORMED: 'the Idempotency-Key header is malformed or repeated',
  AUTHORIZATION_MALFORMED: 'the Authorization header is malformed or repeated',
  TOKEN_MISSING: 'the bearer token is missing',
  TOKEN_INVALID: 'the token is invalid or expired',
  INSUFFICIENT_SCOPE: 'the token lacks the required scope',
  PLANT_NOT_FOUND: 'you have no plant with this id',
  REQUEST_TIMEOUT: 'the request did not arrive completely in time',
  BODY_TOO_LARGE: 'the body exceeds 64 KiB',
  UNSUPPORTED_MEDIA_TYPE: 'the content type is not application/json, or the body is compressed',
  IDEMPOTENCY_KEY_REUSED: 'the idempotency key was used for a different request',
  RATE_LIMITED: 'rate limit exceeded',
  TOO_MANY_REQUESTS: 'you have too many concurrent requests',
  TOO_MANY_WATCHES: 'too many watches are open',
  TOO_MANY_LISTS: 'you read too many long lists at once',
  INTERNAL: 'internal error',
  OVERLOADED: 'the service is overloaded',
  SHUTTING_DOWN: 'the instance is shutting down',
  STORE_UNAVAILABLE: 'the database is unavailable',
  OUTCOME_UNKNOWN: 'the outcome is unknown; retry with the same key',
  ISSUER_UNAVAILABLE: 'tokens cannot be verified now',
} as const satisfies Readonly<Record<Exclude<Reason, Elsewhere>, string>>;
