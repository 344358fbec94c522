import { Writable } from 'node:stream';
import { createLogger, type Logger } from '../../src/observe/logger.ts';

/** A logger whose lines are for the test. */
export function collectLog(): { readonly logs: readonly Record<string, unknown>[]; readonly logger: Logger } {
  const logs: Record<string, unknown>[] = [];
  const destination = new Writable({
    write(line: Buffer, _encoding, done) {
      logs.push(JSON.parse(line.toString()));
      done();
    },
  });
  return { logs, logger: createLogger('info', destination) };
}
