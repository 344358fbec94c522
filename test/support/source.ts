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

/** Where the product's code is: the service's, and what runs in the browser. */
export const ALL_FOLDERS: readonly string[] = ['src', 'console/src'];

/** Every file of these folders; of the service's alone unless others are named. */
export function readSources(folders: readonly string[] = ['src']): SourceFile[] {
  return folders
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)))
    .filter((path) => /\.tsx?$/.test(path))
    .sort()
    .map((path) => parseSource(path, readFileSync(path, 'utf8')));
}
