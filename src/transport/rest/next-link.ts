import type { Fields } from './encode.ts';
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
    for (const { localName, jsonName } of rule.queryFields) {
      const value = localName === 'cursor' ? cursor : request[localName];
      if (value !== undefined) query.set(jsonName, String(value));
    }
    return `<${rule.path}?${query}>; rel="next"`;
  };
}
