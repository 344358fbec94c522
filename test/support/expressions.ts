import { Visitor } from 'oxc-parser';
import { checkSync } from 'recheck';
import type { SourceFile } from './source.ts';

/**
 * The analysis counts the characters that a match reads, and its random choices have a fixed seed. With a limit on time
 * as well, a busy machine would take a linear expression for a slow one, or give no result.
 */
const ANALYSIS = {
  timeout: null,
  seedingTimeout: null,
  incubationTimeout: null,
  attackTimeout: null,
  // Some 30 for each character of the longest text that is tried.
  attackLimit: 10_000_000,
} as const;

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
      const verdict = checkSync(pattern, flags, ANALYSIS);
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
