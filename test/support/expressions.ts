import { Visitor } from 'oxc-parser';
import { checkSync } from 'recheck';
import type { SourceFile } from './source.ts';

/** Most milliseconds for one expression on a busy machine. */
const TIMEOUT = 100_000;

/**
 * The problems with a file's regular expressions, one line each: those that take more than linear time, with an example
 * text; those built from strings, which cannot be analysed; and those without a result.
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
