import { type DescField, type DescMessage, type DescMethod, type DescService, getOption } from '@bufbuild/protobuf';
import { http } from '../../../gen/google/api/annotations_pb.ts';

/** A method of a service with its google.api.http rule. Every field of its request comes from exactly one place. */
export interface HttpRule {
  readonly method: DescMethod;
  /** `GET`, `POST`, ... */
  readonly verb: string;
  /** Path template, such as `/plants/{id}`. */
  readonly path: string;
  /** Request fields in the path. */
  readonly pathFields: readonly DescField[];
  /** Request fields from the query: all that neither path nor body holds. */
  readonly queryFields: readonly DescField[];
  /** Request field that is the body. Undefined: a body is ignored. */
  readonly bodyField: DescField | undefined;
  /** Response field that is the body. Undefined: the response is 204 without a body. */
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
  return [
    {
      method,
      verb: pattern.case.toUpperCase(),
      path: pattern.value,
      pathFields,
      queryFields: input.fields.filter((field) => field !== bodyField && !pathFields.includes(field)),
      bodyField,
      responseField: responseBody === '' ? undefined : fieldOf(output, responseBody),
    },
  ];
}

/** The field of a message with this proto name. Throws when it does not exist. */
function fieldOf(message: DescMessage, name: string): DescField {
  const field = message.fields.find((candidate) => candidate.name === name);
  if (field === undefined) throw new Error(`${message} has no field ${name}, which a google.api.http rule names`);
  return field;
}
