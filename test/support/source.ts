import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ParseResult, parseSync } from 'oxc-parser';

/** A parsed file of the product. */
export interface SourceFile {
  /** From the project's root, such as `src/log/store.ts`. */
  readonly path: string;
  readonly text: string;
  readonly parsed: ParseResult;
}

/** Parses one file. Throws when it does not parse. */
export function parseSource(path: string, text: string): SourceFile {
  const parsed = parseSync(path, text);
  if (parsed.errors.length > 0) throw new Error(`${path}: ${parsed.errors[0]!.message}`);
  return { path, text, parsed };
}

/** Every file of a folder: of src/, unless told. */
export function readSources(folder = 'src'): SourceFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
    .sort()
    .map((path) => parseSource(path, readFileSync(path, 'utf8')));
}
