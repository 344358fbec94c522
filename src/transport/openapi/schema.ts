import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { isRequired, typeOf } from '../rest/field-type.ts';
import { FIELD_TEXTS, INT64_WARNING } from './text.ts';

/** A JSON Schema (draft 2020-12, which OpenAPI 3.1 uses), as JSON.stringify takes it. */
export type Schema = Readonly<Record<string, unknown>>;

/** The schema of a message's JSON form. */
export function messageSchema(message: DescMessage): Schema {
  return {
    type: 'object',
    required: message.fields.filter(isRequired).map(({ jsonName }) => jsonName),
    properties: Object.fromEntries(message.fields.map((field) => [field.jsonName, fieldSchema(field)])),
  };
}

/** The schema of a field's JSON form. Messages are references into the components. */
export function fieldSchema(field: DescField): Schema {
  const type = typeOf(field);
  const more = FIELD_TEXTS[fullName(field)];
  switch (type.kind) {
    case 'string':
      return { type: 'string', ...more };
    case 'integer':
      return {
        ...{ type: 'integer', format: type.format, minimum: exact(type.min), maximum: exact(type.max), ...more },
        ...(type.format === 'int64' && { description: [more?.description, INT64_WARNING].filter(Boolean).join(' ') }),
      };
    case 'enum':
      return { type: 'string', enum: [...type.values.keys()], ...more };
    case 'message':
      return reference(type.message);
    case 'messages':
      return { type: 'array', items: reference(type.message) };
  }
}

/** Full name of a field, such as `plantstore.v1.Plant.name`. */
export const fullName = (field: DescField): string => `${field.parent.typeName}.${field.name}`;

const reference = (message: DescMessage): Schema => ({ $ref: `#/components/schemas/${message.name}` });

/** An integer that JSON.stringify writes with all its digits. */
const exact = (value: bigint): unknown => JSON.rawJSON(String(value));
