import { type DescMessage, fromBinary, fromJson } from '@bufbuild/protobuf';
import { malformedBody, readJsonBody } from '../http/json-body.ts';
import { checkFields } from '../message-fields.ts';
import { checkIntegers } from './integers.ts';

/** Bytes before each message of a stream: flags, and the length of the message in four bytes. */
const ENVELOPE = 5;

/**
 * The bytes of a call's single message, for Connect to decode. Those of unary calls are known to decode, and no integer
 * in JSON loses digits. Throws MALFORMED_REQUEST or INVALID_FIELD.
 */
export function messageBytes(body: Buffer, contentType: string, message: DescMessage): Uint8Array {
  const type = contentType.toLowerCase();
  if (type.startsWith('application/proto')) return inBinary(body, message);
  if (type.startsWith('application/json')) return inJson(body, message);
  if (!isOneEnvelope(body)) return body;
  const bytes = body.subarray(ENVELOPE);
  if (type.startsWith('application/connect+json')) return inEnvelope(inJson(bytes, message));
  checkFields(message, bytes);
  return body;
}

/** Whether a body is one plain message of a stream and nothing else. Connect refuses every other one. */
const isOneEnvelope = (body: Buffer): boolean =>
  body.length >= ENVELOPE && body[0] === 0 && body.readUInt32BE(1) === body.length - ENVELOPE;

function inEnvelope(message: Buffer): Buffer {
  const prefix = Buffer.alloc(ENVELOPE);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** For an undecodable message Connect itself would answer 500, as if the fault were its own. */
function inBinary(body: Buffer, message: DescMessage): Uint8Array {
  checkFields(message, body);
  try {
    fromBinary(message, body, { readUnknownFields: false });
  } catch {
    throw malformedBody(`must be a ${message.typeName} in protobuf binary`);
  }
  return body;
}

/**
 * JSON.parse would lose digits, and 9007199254740993 would become the id of another plant. So an integer that a double
 * cannot hold becomes a string, which protobuf's JSON form also accepts for an int64.
 */
function inJson(body: Buffer, message: DescMessage): Buffer {
  const text = readJsonBody(body).withInexactNumbersQuoted();
  const json = JSON.parse(text);
  checkIntegers(message, json);
  try {
    fromJson(message, json, { ignoreUnknownFields: false });
  } catch (error) {
    throw malformedBody(`does not fit: ${(error as Error).message}`);
  }
  return Buffer.from(text);
}
