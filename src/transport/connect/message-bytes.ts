import { type DescMessage, fromBinary, fromJsonString } from '@bufbuild/protobuf';
import { PlantStoreError } from '../../domain/errors.ts';
import { JsonText } from '../../json/json-text.ts';

/**
 * The bytes of a call's only message, for Connect to decode: they are known to decode, and no integer loses digits on the way. Those
 * of a stream are in an envelope, which is left to Connect. Throws MALFORMED_REQUEST.
 */
export function messageBytes(body: Buffer, contentType: string, message: DescMessage): Uint8Array {
  const type = contentType.toLowerCase();
  if (type.startsWith('application/proto')) return inBinary(body, message);
  if (type.startsWith('application/json')) return inJson(body, message);
  return body;
}

/** Connect itself would answer what does not decode with 500, as if it were its own fault. */
function inBinary(body: Buffer, message: DescMessage): Uint8Array {
  try {
    fromBinary(message, body, { readUnknownFields: false });
  } catch {
    throw malformed(`must be a ${message.typeName} in protobuf binary`);
  }
  return body;
}

/**
 * JSON.parse would lose digits, and 9007199254740993 would become the id of another plant. So an integer that a double does not hold
 * becomes a string, which the JSON form of protobuf takes for an int64 as well.
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
