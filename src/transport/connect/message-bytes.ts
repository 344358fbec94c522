import { type DescMessage, fromBinary, fromJsonString } from '@bufbuild/protobuf';
import { PlantStoreError } from '../../domain/errors.ts';
import { JsonText } from '../../json/json-text.ts';

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
    throw malformed(`must be a ${message.typeName} in protobuf binary`);
  }
  return body;
}

/**
 * JSON.parse would lose digits, and 9007199254740993 would become the id of another plant. So an integer that a double
 * cannot hold becomes a string, which protobuf's JSON form also accepts for an int64.
 */
function inJson(body: Buffer, message: DescMessage): Uint8Array {
  const text = read(body).withInexactNumbersQuoted();
  try {
    fromJsonString(message, text, { ignoreUnknownFields: false });
  } catch (error) {
    throw malformed(`does not fit: ${(error as Error).message}`);
  }
  return Buffer.from(text);
}

function read(body: Buffer): JsonText {
  try {
    return new JsonText(body);
  } catch (error) {
    throw malformed(`is ${(error as SyntaxError).message}`);
  }
}

const malformed = (problem: string) => new PlantStoreError('MALFORMED_REQUEST', `the body ${problem}`);
