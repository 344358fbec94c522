import { pipeline } from 'node:stream/promises';

/**
 * Writes lines to stdout as fast as its reader takes them. A reader that has seen enough, such as `head`, ends it without an
 * error.
 */
export async function print(lines: Iterable<string> | AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(withLineBreaks(lines), process.stdout, { end: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}

async function* withLineBreaks(lines: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`;
}
