import { Visitor } from 'oxc-parser';
import { checkSync } from 'recheck';
import type { SourceFile } from './source.ts';

/** Milliseconds for one expression on a busy machine. */
const TIMEOUT = 100_000;

/**
 * The regular expressions of a file that take more than linear time for some text, one line each with such a text; those made of
 * strings, which nothing can be said of; and those that could not be judged.
 */
export function superLinear({ path, parsed }: SourceFile): string[] {
  const found: string[] = [];
  new Visitor({
    Literal(node) {
      if (!('regex' in node) || node.regex === undefined) return;
      const { pattern, flags } = node.regex;
      const verdict = checkSync(pattern, flags, { timeout: TIMEOUT });
      if (verdict.status === 'safe') return;
      const why =
        verdict.status === 'vulnerable'
          ? `${verdict.complexity.summary} for ${verdict.attack.pattern}`
          : `not judged: ${verdict.error.kind}`;
      found.push(`${path}: /${pattern}/${flags} is ${why}`);
    },
    NewExpression({ callee }) {
      if (callee.type === 'Identifier' && callee.name === 'RegExp')
        found.push(`${path}: an expression made of strings`);
    },
    CallExpression({ callee }) {
      if (callee.type === 'Identifier' && callee.name === 'RegExp')
        found.push(`${path}: an expression made of strings`);
    },
  }).visit(parsed.program);
  return found;
}
