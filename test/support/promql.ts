import { parser } from '@prometheus-io/lezer-promql';

/** A series that an expression selects, and the labels that it uses. */
export interface Selector {
  readonly metric: string;
  readonly labels: readonly string[];
}

/** The series that a PromQL expression selects. Throws if it does not parse. */
export function selectorsOf(expression: string): Selector[] {
  const found: { metric: string; labels: string[] }[] = [];
  parser.parse(expression).iterate({
    enter: ({ name, type, from, to, node }) => {
      const text = expression.slice(from, to);
      if (type.isError) throw new Error(`not PromQL at ${from}: ${expression}`);
      if (name === 'VectorSelector') found.push({ metric: '', labels: [] });
      if (name === 'Identifier' && node.parent?.name === 'VectorSelector') found.at(-1)!.metric = text;
      if (name === 'LabelName' && node.parent?.name !== 'GroupingLabels') found.at(-1)!.labels.push(text);
    },
  });
  return found;
}
