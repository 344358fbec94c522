import { ERRORS, type Reason } from '../../domain/errors.ts';
import { FAILURES } from './text.ts';

type Documented = keyof typeof FAILURES;

/** The service's message for each reason. Tests compare each with the real message. */
const MESSAGES: Readonly<
  Record<Exclude<Documented, 'INVALID_FIELD' | 'INSUFFICIENT_SCOPE' | 'WATCH_TOO_SLOW' | 'TOO_MANY_LISTS'>, string>
> = {
  MALFORMED_REQUEST: 'the request is not valid HTTP/1.1',
  INVALID_CURSOR: 'cursor must be the next_cursor of an earlier list',
  PLANT_ALREADY_EXISTS: 'a plant with id 7 already exists; delete it first, or use another id',
  IDEMPOTENCY_KEY_MALFORMED:
    'Idempotency-Key must be one string of 1 to 255 characters of printable ASCII in quotes, such as "8e03978e-40d5-43dd-bc93-6894a57f9324"',
  AUTHORIZATION_MALFORMED: 'send one Authorization header: Bearer, a space, and the token as it was issued',
  TOKEN_MISSING: 'this call needs a token; send it as Authorization: Bearer TOKEN',
  TOKEN_INVALID: 'the token has expired; get a new one',
  PLANT_NOT_FOUND: 'there is no plant with id 7',
  REQUEST_TIMEOUT: 'the request took too long to arrive',
  BODY_TOO_LARGE: 'the body must have at most 64 KiB',
  UNSUPPORTED_MEDIA_TYPE: 'send the body as application/json',
  IDEMPOTENCY_KEY_REUSED:
    'another request used this idempotency key; use a new key for each request, and repeat a key only to retry its request',
  RATE_LIMITED: 'rate limit exceeded; slow down and try again',
  TOO_MANY_REQUESTS: 'too many requests of this owner are being served; wait for their answers',
  TOO_MANY_WATCHES: 'this owner has 16 streams open, the maximum; share one, or close one',
  INTERNAL: 'internal error; the log of the service has the cause under this request id',
  OVERLOADED: 'too many commands are waiting; try again',
  STORE_UNAVAILABLE: 'the store cannot be reached now; try again',
  OUTCOME_UNKNOWN: 'the outcome is unknown; retry, with the same Idempotency-Key if you sent one',
  ISSUER_UNAVAILABLE: 'tokens cannot be verified now, because the keys of the issuer are unavailable; try again',
};

const NO_INT64 = 'must be an integer from -9223372036854775808 to 9223372036854775807';
const NO_SCOPE = 'the token lacks the scope that this call needs:';

/** The same for messages that depend on the method, by its local name. */
const MESSAGES_OF: Readonly<Record<string, Readonly<Partial<Record<Documented, string>>>>> = {
  createPlant: { INVALID_FIELD: `id ${NO_INT64}`, INSUFFICIENT_SCOPE: `${NO_SCOPE} plants:write` },
  listPlants: {
    INVALID_FIELD: 'limit must be an integer from 0 to 2147483647',
    INSUFFICIENT_SCOPE: `${NO_SCOPE} plants:read`,
  },
  getPlant: { INVALID_FIELD: `id ${NO_INT64}`, INSUFFICIENT_SCOPE: `${NO_SCOPE} plants:read` },
  deletePlant: { INVALID_FIELD: `id ${NO_INT64}`, INSUFFICIENT_SCOPE: `${NO_SCOPE} plants:write` },
};

const examples = (messages: Readonly<Partial<Record<Documented, string>>>, suffix = '') =>
  Object.entries(messages).map(([name, message]) => {
    const reason = name as Documented;
    return [name + suffix, { summary: FAILURES[reason], value: { error: ERRORS[reason].code, message } }];
  });

/** An Error for each reason of a method's failure, by name: components of the document. */
export const EXAMPLES: Readonly<Record<string, object>> = Object.fromEntries([
  ...examples(MESSAGES),
  ...Object.entries(MESSAGES_OF).flatMap(([method, messages]) => examples(messages, `.${method}`)),
]);

/** The example of a reason for a method, given by its local name: a reference into the components. */
export const exampleOf = (reason: Reason, method: string): object => ({
  $ref: `#/components/examples/${reason in (MESSAGES_OF[method] ?? {}) ? `${reason}.${method}` : reason}`,
});
