import type { Reason } from '../../domain/errors.ts';
import { MAX_TEXT_CODE_POINTS } from '../../domain/plant.ts';

const TEXT = { maxLength: MAX_TEXT_CODE_POINTS };
const VIEW = { default: 'BASIC', description: '`FULL` shows the id of each plant too.' };
const TAG = 'Well-formed Unicode. Absent and empty are different.';

/** The note on every int64, after its own description. */
export const INT64_WARNING =
  'A JSON number of up to 64 bits. JSON.parse, and most clients that are generated from this document, keep 53 of them: ' +
  'beyond 2^53 they lose digits silently.';

/** The advice for that note. */
export const INT64_ADVICE =
  'Integers are exact in the service, all 64 bits. **Numbers beyond 2^53 lose digits in clients that read and write JSON numbers as doubles**, ' +
  'as JSON.parse and most generated clients in JavaScript and TypeScript do: 9007199254740997 is stored as 9007199254740996, without an error. Keep ids ' +
  'within 2^53, or use a client that keeps all digits: `plantstore/client` (ids are bigint), or Connect and gRPC, whose generated clients do.';

/** JSON Schema keywords for fields, by full name, beyond the descriptors. */
export const FIELD_TEXTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'plantstore.v1.Plant.name': { ...TEXT, description: 'Well-formed Unicode; may be empty.', examples: ['Fern'] },
  'plantstore.v1.Plant.tag': { ...TEXT, description: TAG, examples: ['indoor'] },
  'plantstore.v1.Plant.id': { description: 'There with `view=FULL` only.', examples: [7] },
  'plantstore.v1.NewPlant.id': {
    description: 'Any int64. Unique among your plants; free again once its plant is deleted.',
    examples: [7],
  },
  'plantstore.v1.NewPlant.name': { ...TEXT, description: 'Well-formed Unicode; may be empty.', examples: ['Fern'] },
  'plantstore.v1.NewPlant.tag': { ...TEXT, description: TAG, examples: ['indoor'] },
  'plantstore.v1.ListPlantsRequest.limit': {
    description: 'At most this many plants; 0 gives an empty list. Absent: all of them.',
  },
  'plantstore.v1.ListPlantsRequest.cursor': {
    description: 'Where an earlier list was cut: follow its `Link` header instead of making one.',
  },
  'plantstore.v1.ListPlantsRequest.view': { ...VIEW },
  'plantstore.v1.GetPlantRequest.view': { ...VIEW },
  'plantstore.v1.GetPlantRequest.id': { description: 'The id that the plant was added with.' },
  'plantstore.v1.DeletePlantRequest.id': { description: 'The id that the plant was added with.' },
};

/** Texts and failures of methods, by full name, beyond the descriptors. */
export const METHODS: Readonly<Record<string, { summary: string; description: string; failures: readonly Reason[] }>> =
  {
    'plantstore.v1.PlantStoreService.CreatePlant': {
      summary: 'Add a plant',
      description:
        'A 503 means: maybe added. Send it again: with the same `Idempotency-Key` the answer is that of the first; without ' +
        'one, `error` 6 then says that it was.',
      failures: [
        'INVALID_FIELD',
        'IDEMPOTENCY_KEY_MALFORMED',
        'PLANT_ALREADY_EXISTS',
        'IDEMPOTENCY_KEY_REUSED',
        'OUTCOME_UNKNOWN',
      ],
    },
    'plantstore.v1.PlantStoreService.ListPlants': {
      summary: 'List your plants',
      description:
        'In ascending id, as of one moment, with all that was acknowledged before. Without a limit the array is streamed; ' +
        'a connection that ends before its closing bracket was broken off. A walk along the `Link` headers neither skips nor ' +
        'repeats a plant while others add and delete. With `Accept: text/event-stream` the answer goes on with every change, and takes neither ' +
        'limit nor cursor.',
      failures: ['INVALID_FIELD', 'INVALID_CURSOR', 'TOO_MANY_WATCHES'],
    },
    'plantstore.v1.PlantStoreService.GetPlant': {
      summary: 'Get a plant',
      description: 'As of no earlier than all that was acknowledged before.',
      failures: ['INVALID_FIELD', 'PLANT_NOT_FOUND'],
    },
    'plantstore.v1.PlantStoreService.DeletePlant': {
      summary: 'Delete a plant',
      description:
        'A 503 means: maybe deleted. Send it again: with the same `Idempotency-Key` the answer is that of the first; without ' +
        'one, `error` 5 then says that it was.',
      failures: [
        'INVALID_FIELD',
        'IDEMPOTENCY_KEY_MALFORMED',
        'PLANT_NOT_FOUND',
        'IDEMPOTENCY_KEY_REUSED',
        'OUTCOME_UNKNOWN',
      ],
    },
  };

/** The header that makes a command repeatable, as a parameter. */
export const IDEMPOTENCY_KEY: Readonly<Record<string, unknown>> = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Your name for this request, such as a UUID, in quotes (draft-ietf-httpapi-idempotency-key-header) or bare. For 24 hours ' +
    'the same request with the same key is answered as the first was, and not done again.',
  // No example: pages that try out requests would send it, and the second request would count as a repetition of the
  // first.
  schema: { type: 'string', minLength: 1 },
};

/** Failures of every method. */
export const ANY_FAILURES: readonly Reason[] = [
  'MALFORMED_REQUEST',
  'AUTHORIZATION_MALFORMED',
  'TOKEN_MISSING',
  'TOKEN_INVALID',
  'INSUFFICIENT_SCOPE',
  'REQUEST_TIMEOUT',
  'RATE_LIMITED',
  'TOO_MANY_REQUESTS',
  'INTERNAL',
  'OVERLOADED',
  'STORE_UNAVAILABLE',
  'ISSUER_UNAVAILABLE',
];

/** Further failures of a method that takes a body. */
export const BODY_FAILURES: readonly Reason[] = ['BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];

/** Descriptions of failures that need more than their name. */
export const FAILURES: Readonly<
  Record<
    Exclude<
      Reason,
      | 'CANCELLED'
      | 'ROUTE_NOT_FOUND'
      | 'METHOD_NOT_ALLOWED'
      | 'OWNER_BEING_ERASED'
      | 'COUNT_OUTDATED'
      | 'MAY_NOT_ERASE'
      | 'EVENT_NOT_FOUND'
    >,
    string
  >
> = {
  MALFORMED_REQUEST: 'not a well-formed request, a URL and headers over 32 KiB, or a body that is not a JSON object',
  INVALID_FIELD: 'a missing or wrong value',
  INVALID_CURSOR: 'a cursor that no list returned',
  PLANT_ALREADY_EXISTS: 'you have a plant of this id',
  IDEMPOTENCY_KEY_MALFORMED: 'not one well-formed Idempotency-Key header',
  AUTHORIZATION_MALFORMED: 'not one well-formed Authorization header',
  TOKEN_MISSING: 'no bearer token',
  TOKEN_INVALID: 'a token that is not valid, or not any more',
  INSUFFICIENT_SCOPE: 'a token without the scope that this needs',
  PLANT_NOT_FOUND: 'you have no plant of this id',
  REQUEST_TIMEOUT: 'a request that took too long to arrive',
  BODY_TOO_LARGE: 'a body over 64 KiB',
  UNSUPPORTED_MEDIA_TYPE: 'a body that is not sent as application/json, or is encoded',
  IDEMPOTENCY_KEY_REUSED: 'an idempotency key that came with another request',
  RATE_LIMITED: 'more requests than you may make',
  TOO_MANY_REQUESTS: 'more requests at once than you may send',
  TOO_MANY_WATCHES: 'more streams at once than you may have',
  WATCH_TOO_SLOW: 'a stream whose reader fell too far behind',
  TOO_MANY_LISTS: 'more long lists at once than you may read',
  INTERNAL: 'a fault of the service',
  OVERLOADED: 'too much to do at the moment',
  STORE_UNAVAILABLE: 'the log cannot be reached',
  OUTCOME_UNKNOWN: 'maybe done: the log decides',
  ISSUER_UNAVAILABLE: 'tokens cannot be verified at the moment',
};
