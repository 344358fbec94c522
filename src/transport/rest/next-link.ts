import type { DescField } from '@bufbuild/protobuf';
import type { Fields } from './encode.ts';
import { typeOf } from './field-type.ts';
import type { HttpRule } from './http-rule.ts';

/**
 * Compiles the function that links to the rest of a list (RFC 8288): the same request with the cursor in the response's
 * `next_cursor`. The function returns undefined when the list is complete.
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

/** A value as it was in the query. Undefined: it was absent. */
function textOf(field: DescField, value: unknown): string | undefined {
  const type = typeOf(field);
  if (type.kind === 'enum') return [...type.values].find(([, number]) => number === value)?.[0];
  return value === undefined ? undefined : String(value);
}
