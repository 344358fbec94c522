import { type DescMessage, fromBinary, fromJsonString } from '@bufbuild/protobuf';
import { malformedBody, readJsonBody } from '../http/json-body.ts';

/**
 * The bytes of a call's single message, for Connect to decode. They are known to decode, and no integer loses digits.
 * Connect handles the envelopes of stream messages itself. Throws MALFORMED_REQUEST.
 */
export function messageBytes(body: Buffer, contentType: string, message: DescMessage): Uint8Array {
  const type = contentType.toLowerCase();
  if (type.startsWith('application/proto')) return inBinary(body, message);
  if (type.startsWith('application/json')) return inJson(body, message);
  return body;
}

/** For an undecodable message Connect itself would answer 500, as if the fault were its own. */
function inBinary(body: Buffer, message: DescMessage): Uint8Array {
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
function inJson(body: Buffer, message: DescMessage): Uint8Array {
  const text = readJsonBody(body).withInexactNumbersQuoted();
  try {
    fromJsonString(message, text, { ignoreUnknownFields: false });
  } catch (error) {
    throw malformedBody(`does not fit: ${(error as Error).message}`);
  }
  return Buffer.from(text);
}
