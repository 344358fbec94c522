import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  getOption,
  ScalarType,
} from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { http } from '../../../gen/google/api/annotations_pb.ts';
import { InvalidFieldError } from '../../domain/errors.ts';
import { MAX_INT64, MIN_INT64 } from '../../domain/plant.ts';
import { MAX_COUNT } from '../call-limits.ts';

/** A method of a service with its google.api.http rule. Every field of its request comes from exactly one place. */
export interface HttpRule {
  readonly method: DescMethod;
  readonly verb: string;
  /** Path template, such as `/plants/{id}`. */
  readonly path: string;
  readonly pathFields: readonly DescField[];
  /** Request fields from the query: all that neither path nor body holds. */
  readonly queryFields: readonly DescField[];
  /** Request field that is the body. Undefined: a body is ignored. */
  readonly bodyField: DescField | undefined;
  /** Response field that is the body: a message, or a list of messages. Undefined: the response is 204 without one. */
  readonly responseField: DescField | undefined;
}

const TEMPLATE = /^(?:\/(?:[\w.~-]+|\{\w+\}))+$/;
const VARIABLE = /\{(\w+)\}/g;

/** The rules of a service's methods. Omits methods without a rule. Throws when a rule has an unsupported form. */
export const httpRulesOf = (service: DescService): HttpRule[] => service.methods.flatMap((method) => ruleOf(method));

function ruleOf(method: DescMethod): HttpRule[] {
  const { pattern, body, responseBody, additionalBindings } = getOption(method, http);
  if (pattern.case === undefined) return [];
  if (pattern.case === 'custom' || additionalBindings.length > 0 || !TEMPLATE.test(pattern.value))
    throw new Error(`the google.api.http rule of ${method} uses a form that is not supported`);
  const { input, output } = method;
  const pathFields = [...pattern.value.matchAll(VARIABLE)].map(([, name]) => fieldOf(input, name!));
  const bodyField = body === '' ? undefined : fieldOf(input, body);
  const responseField = responseBody === '' ? undefined : fieldOf(output, responseBody);
  if (responseField !== undefined && responseField.message === undefined)
    throw new Error(`the response_body of ${method} must be a message or a list of messages`);
  return [
    {
      method,
      verb: pattern.case.toUpperCase(),
      path: pattern.value,
      pathFields,
      queryFields: input.fields.filter((field) => field !== bodyField && !pathFields.includes(field)),
      bodyField,
      responseField,
    },
  ];
}

function fieldOf(message: DescMessage, name: string): DescField {
  const field = message.fields.find((candidate) => candidate.name === name);
  if (field === undefined) throw new Error(`${message} has no field ${name}, which a google.api.http rule names`);
  return field;
}

/** A field that holds an integer: its bounds, and its form in a message. */
export interface IntegerType {
  readonly kind: 'integer';
  readonly format: 'int32' | 'int64';
  readonly min: bigint;
  readonly max: bigint;
  /** An integer within the bounds, in its form in a message. */
  toField(value: bigint): number | bigint;
}

/** The types of fields that REST has a form for, beside the messages that are bodies. */
export type FieldType =
  | IntegerType
  | { readonly kind: 'string' }
  /** By the names of the values without their common prefix, and without the value for unspecified. */
  | { readonly kind: 'enum'; readonly values: ReadonlyMap<string, number> };

const STRING = { kind: 'string' } as const;
/** The only int32 fields in REST are counts. */
const COUNT: IntegerType = { kind: 'integer', format: 'int32', min: 0n, max: MAX_COUNT, toField: Number };
const INT64: IntegerType = {
  kind: 'integer',
  format: 'int64',
  min: MIN_INT64,
  max: MAX_INT64,
  toField: (value) => value,
};

/** The type of a field. Throws for a type that REST does not support. */
export function typeOf(field: DescField): FieldType {
  if (field.fieldKind === 'scalar' && field.scalar === ScalarType.STRING) return STRING;
  if (field.fieldKind === 'scalar' && field.scalar === ScalarType.INT32) return COUNT;
  if (field.fieldKind === 'scalar' && field.scalar === ScalarType.INT64) return INT64;
  if (field.fieldKind === 'enum') return { kind: 'enum', values: namesOf(field.enum) };
  throw new Error(`REST has no form for ${field}`);
}

const namesOf = ({ values }: DescEnum): ReadonlyMap<string, number> =>
  new Map(values.filter(({ number }) => number !== 0).map(({ localName, number }) => [localName, number]));

/** Whether a field is declared `optional` (or is a message). Only such a field may be unset. */
export const isOptional = (field: DescField): boolean => field.presence === FeatureSet_FieldPresence.EXPLICIT;

/** The error of a field with an invalid value. `path`: its proto path. */
export const invalidField = (path: string, mustBe: string): InvalidFieldError =>
  new InvalidFieldError(path, `must be ${mustBe}`);

/**
 * An integer of a type. Throws INVALID_FIELD when the value is undefined or out of bounds. `form`: what to send, in
 * words.
 */
export function toInteger(
  type: IntegerType,
  value: bigint | undefined,
  path: string,
  form = 'an integer',
): number | bigint {
  if (value === undefined || value < type.min || value > type.max)
    throw invalidField(path, `${form} from ${type.min} to ${type.max}`);
  return type.toField(value);
}
