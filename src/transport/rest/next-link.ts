import type { DescField } from '@bufbuild/protobuf';
import type { Fields } from './encode.ts';
import { typeOf } from './field-type.ts';
import type { HttpRule } from './http-rule.ts';

/**
 * Makes the function that names the rest of a list (RFC 8288), when there is one: the same request with the cursor that the
 * response's `next_cursor` holds. Undefined from the function: the list is whole.
 */
export function compileNextLink(rule: HttpRule): (result: Fields, request: Fields) => string | undefined {
  const next = rule.method.output.fields.find(({ name }) => name === 'next_cursor');
  if (next === undefined) return () => undefined;
  return (result, request) => {
    const cursor = result[next.localName] as string;
    if (cursor === '') return undefined;
    const query = new URLSearchParams();
    for (const field of rule.queryFields) {
      const value = field.localName === 'cursor' ? cursor : request[field.localName];
      const text = textOf(field, value);
      if (text !== undefined) query.set(field.jsonName, text);
    }
    return `<${rule.path}?${query}>; rel="next"`;
  };
}

/** A value as the query had it; undefined: it had none. */
function textOf(field: DescField, value: unknown): string | undefined {
  const type = typeOf(field);
  if (type.kind === 'enum') return [...type.values].find(([, number]) => number === value)?.[0];
  return value === undefined ? undefined : String(value);
}
