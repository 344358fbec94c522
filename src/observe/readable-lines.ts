import { type DestinationStream, symbols } from 'pino';
import type { LogOutput } from './log-output.ts';

/** Writes each line of the logger to an output for people, such as `17:06:40 INFO listening protocol=rest`. */
export class ReadableLines implements DestinationStream {
  /** Makes pino set `lastLevel` for each line: the output never drops a fatal one. */
  readonly [symbols.needsMetadataGsym] = true;
  lastLevel = 0;
  readonly #output: LogOutput;

  constructor(output: LogOutput) {
    this.#output = output;
  }

  /** Writes a line, which is a JSON object. */
  write(line: string): void {
    this.#output.lastLevel = this.lastLevel;
    this.#output.write(readableLine(line));
  }
}

/** A line of the log, which is a JSON object, as a line for people; the stack of an error follows on lines of its own. */
export function readableLine(line: string): string {
  const { level, time, msg, err, ...members }: Record<string, unknown> = JSON.parse(line);
  const { message, stack } = (err ?? {}) as { message?: string; stack?: string };
  const rest = Object.entries(message === undefined ? members : { ...members, err: message })
    .map(([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('');
  const trace = stack === undefined ? '' : `${stack.replaceAll(/^/gm, '  ')}\n`;
  return `${String(time).slice(11, 19)} ${String(level).toUpperCase()} ${msg}${rest}\n${trace}`;
}
