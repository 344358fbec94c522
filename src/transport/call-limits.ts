import type { IncomingHttpHeaders } from 'node:http';
import { type DescMessage, fromBinary, type Message } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { PlantStoreError } from '../domain/errors.ts';

/** Most fields of a message in protobuf binary. Requests have some ten. */
const MAX_FIELDS = 1_000;

/**
 * Reads a message in protobuf binary, without fields that are unknown. Throws MALFORMED_REQUEST, also for one with too
 * many fields, which take far longer to read than to send.
 */
export function readMessage(desc: DescMessage, bytes: Uint8Array): Message {
  // A field has at least two bytes.
  if (bytes.length >= 2 * MAX_FIELDS && hasMoreFields(desc, bytes))
    throw new PlantStoreError('MALFORMED_REQUEST', `the message has over ${MAX_FIELDS} fields`);
  try {
    return fromBinary(desc, bytes, { readUnknownFields: false });
  } catch {
    throw new PlantStoreError('MALFORMED_REQUEST', `the message must be a ${desc.typeName} in protobuf binary`);
  }
}

function hasMoreFields(desc: DescMessage, bytes: Uint8Array): boolean {
  try {
    return fieldsLeft(new BinaryReader(bytes), desc, bytes.length, MAX_FIELDS) < 0;
  } catch {
    // The reader throws where the bytes are no message.
    return false;
  }
}

/** How many of the allowed fields are left after those before `end`. Negative: it has more. */
function fieldsLeft(reader: BinaryReader, { fields }: DescMessage, end: number, allowed: number): number {
  let left = allowed;
  while (left >= 0 && reader.pos < end) {
    const [number, wireType] = reader.tag();
    const field = fields.find((each) => each.number === number);
    left--;
    if (field?.fieldKind === 'message' && wireType === WireType.LengthDelimited) {
      const length = reader.uint32();
      left = fieldsLeft(reader, field.message, Math.min(reader.pos + length, end), left);
    } else reader.skip(wireType, number);
  }
  return left;
}

/**
 * Most bytes of a request's message on every transport: an HTTP/1.1 body, or a message of gRPC. A plant at its
 * limits has 25 KiB of JSON with everything escaped, and 9 KiB in protobuf. Up to this size, a message that is too long
 * gets an error that names the field.
 */
export const MAX_MESSAGE = 64 * 1024;

/** Largest int32, the type of counts in requests. */
export const MAX_COUNT = 2n ** 31n - 1n;

/** A decimal integer of at most 19 digits after leading zeros, in a URL of REST and in a JSON string of Connect. */
export const DECIMAL = /^-?0*\d{1,19}$/;

/** Longest time limit of a call, in milliseconds: what a timer of Node holds, some 24 days. */
const MAX_LIMIT = 2 ** 31 - 1;

/** The headers that limit the time of a call: digits, and gRPC's units in which they can be beyond MAX_LIMIT. */
const LIMITS = Object.entries({ 'connect-timeout-ms': /^(\d{1,10})()$/, 'grpc-timeout': /^(\d{1,8})([HMS])$/ });
const MILLISECONDS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000 };

/**
 * A limit that no timer holds is none, over every protocol. The libraries would set the timer: it passes at once, and
 * Node warns of it on stderr.
 */
export function dropLongLimits(headers: IncomingHttpHeaders): void {
  for (const [name, form] of LIMITS) {
    if (headers[name] === undefined) continue;
    const [, digits, unit = ''] = form.exec(String(headers[name])) ?? [];
    if (Number(digits) * (MILLISECONDS[unit] ?? 1) > MAX_LIMIT) delete headers[name];
  }
}

const GRPC_LIMIT = /^\d{1,8}[HMSmun]$/;

/** Whether a `grpc-timeout` is one, or there is none. */
export const isLimit = (limit: string | string[] | undefined): boolean =>
  limit === undefined || GRPC_LIMIT.test(String(limit));
