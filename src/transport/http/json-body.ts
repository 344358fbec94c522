import { PlantStoreError } from '../../domain/errors.ts';
import { JsonText } from '../../json/json-text.ts';

/** Reads a body in JSON (RFC 8259), in UTF-8, in which no object names a member twice. Throws MALFORMED_REQUEST. */
export function readJsonBody(body: Buffer): JsonText {
  try {
    return new JsonText(body);
  } catch (error) {
    throw malformedBody(`is ${(error as SyntaxError).message}`);
  }
}

/** The error of a body that is not what it must be. */
export const malformedBody = (problem: string): PlantStoreError =>
  new PlantStoreError('MALFORMED_REQUEST', `the body ${problem}`);
