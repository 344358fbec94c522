import { type DescEnum, type DescField, type DescMessage, fromJson, ScalarType } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { InvalidFieldError } from '../../domain/errors.ts';
import { MAX_INT64, MIN_INT64 } from '../../domain/plant.ts';
import { NOT_WELL_FORMED } from '../../domain/validation.ts';
import { DECIMAL, MAX_COUNT, readMessage } from '../call-limits.ts';
import { malformedBody, readJsonBody } from '../http/body.ts';

/** Bytes before each message of a stream: flags, and the length of the message in four bytes. */
const ENVELOPE_BYTES = 5;

/** The flags of a message that is compressed. */
const COMPRESSED_FLAG = 1;

/** The refusal of a compressed message. */
export const compressed = () => new ConnectError('send messages without compression', Code.Unimplemented);

/** The message of a call, for Connect to decode. Integers are exact. Throws MALFORMED_REQUEST or INVALID_FIELD. */
export function messageBytes(body: Buffer, contentType: string, message: DescMessage): Uint8Array {
  const type = contentType.toLowerCase();
  if (type.startsWith('application/proto')) return inBinary(body, message);
  if (type.startsWith('application/json')) return inJson(body, message);
  // Connect would say that the fault is its own.
  if ((body[0]! & COMPRESSED_FLAG) !== 0) throw compressed();
  if (!isOneEnvelope(body)) throw malformedBody('must be one message in its envelope, with flags 0');
  const bytes = body.subarray(ENVELOPE_BYTES);
  if (type.startsWith('application/connect+json')) return inEnvelope(inJson(bytes, message));
  return inBinary(body, message, bytes);
}

/** Whether a body is one plain message of a stream and nothing else. */
const isOneEnvelope = (body: Buffer): boolean =>
  body.length >= ENVELOPE_BYTES && body[0] === 0 && body.readUInt32BE(1) === body.length - ENVELOPE_BYTES;

function inEnvelope(message: Buffer): Buffer {
  const prefix = Buffer.alloc(ENVELOPE_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** For an undecodable message Connect itself would answer 500, as if the fault were its own. */
function inBinary(body: Buffer, message: DescMessage, bytes = body): Uint8Array {
  readMessage(message, bytes);
  return body;
}

/** An integer that a double cannot hold becomes a string, which protobuf's JSON form also accepts for an int64. */
function inJson(body: Buffer, message: DescMessage): Buffer {
  const written = readJsonBody(body);
  const text = written.withInexactNumbersQuoted();
  const json = JSON.parse(text);
  if (!isObject(json)) throw malformedBody('must be a JSON object');
  checkValues(message, json, written.value);
  try {
    fromJson(message, json, { ignoreUnknownFields: false });
  } catch (error) {
    throw malformedBody(`does not fit: ${(error as Error).message}`);
  }
  return Buffer.from(text);
}

/** Smallest and largest value of the integers that the service's requests have. Those of 32 bits are counts. */
const BOUNDS: ReadonlyMap<ScalarType, readonly [bigint, bigint]> = new Map([
  [ScalarType.INT32, [0n, MAX_COUNT]],
  [ScalarType.INT64, [MIN_INT64, MAX_INT64]],
]);

/** Messages with a JSON form of their own, such as Timestamp. */
const WELL_KNOWN = /^google\.protobuf\./;

/**
 * Checks the values of a message in protobuf's JSON form, in which integers that a double cannot hold are strings. The
 * library takes all integers that BigInt and Number take: hexadecimal, spaces, a plus sign; and it refuses other values
 * in words of its own. Throws INVALID_FIELD; `path` names the message in the request. What is not of the form otherwise
 * is left to the library. `written` is the same value before numbers became strings: a text must have been one.
 */
function checkValues({ fields }: DescMessage, json: unknown, written: unknown, path: readonly string[] = []): void {
  for (const field of fields) {
    const value = memberOf(json, field);
    if (value === undefined || value === null) continue;
    const own = memberOf(written, field);
    const at = [...path, field.name];
    const problem = problemOf(field, isText(field) ? own : value);
    if (problem !== undefined) throw new InvalidFieldError(at.join('.'), problem);
    if (field.fieldKind === 'message' && !WELL_KNOWN.test(field.message.typeName))
      checkValues(field.message, value, own, at);
  }
}

function memberOf(json: unknown, { jsonName, name }: DescField): unknown {
  const members = json as Readonly<Record<string, unknown>>;
  return members[jsonName] ?? members[name];
}

/** Whether the JSON form of a field is a text whatever its value: an integer's is one for large values. */
const isText = ({ scalar }: DescField): boolean => scalar === ScalarType.STRING || scalar === ScalarType.BYTES;

/** What is wrong with the value of a field, but for the members of a message. */
function problemOf(field: DescField, value: unknown): string | undefined {
  switch (field.fieldKind) {
    case 'message':
      return WELL_KNOWN.test(field.message.typeName) || isObject(value) ? undefined : 'must be an object';
    case 'enum':
      return isNumberOrName(field.enum, value) ? undefined : `must be ${namesOf(field.enum).join(' or ')}`;
    case 'scalar':
      return problemOfScalar(field.scalar, value);
    default:
      return undefined;
  }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A number that has no name is one of a later release: the service decides. */
const isNumberOrName = ({ values }: DescEnum, value: unknown): boolean =>
  Number.isInteger(value) || values.some(({ name }) => name === value);

/** All but the value that means that there is none. */
const namesOf = ({ values }: DescEnum): string[] => values.filter(({ number }) => number !== 0).map(({ name }) => name);

function problemOfScalar(scalar: ScalarType, value: unknown): string | undefined {
  if (scalar === ScalarType.STRING) return problemOfText(value);
  if (scalar === ScalarType.BYTES) return typeof value === 'string' ? undefined : 'must be a string in base64';
  const bounds = BOUNDS.get(scalar);
  if (bounds === undefined) return undefined;
  const [min, max] = bounds;
  const integer = integerOf(value);
  if (integer !== undefined && integer >= min && integer <= max) return undefined;
  return `must be an integer from ${min} to ${max}`;
}

function problemOfText(value: unknown): string | undefined {
  if (typeof value !== 'string') return 'must be a string';
  return value.isWellFormed() ? undefined : NOT_WELL_FORMED;
}

function integerOf(value: unknown): bigint | undefined {
  if (typeof value === 'string') return DECIMAL.test(value) ? BigInt(value) : undefined;
  return Number.isSafeInteger(value) ? BigInt(value as number) : undefined;
}
