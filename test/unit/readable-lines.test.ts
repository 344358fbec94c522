import { expect, test } from 'vitest';
import { readableLine } from '../../src/observe/log-output.ts';
import { createLogger } from '../../src/observe/logger.ts';

const linesOf = (log: (logger: ReturnType<typeof createLogger>) => void): string[] => {
  const lines: string[] = [];
  log(createLogger('info', { write: (line) => lines.push(readableLine(line)) }));
  return lines;
};

test('a line has its time, level and message first, and then its members', () => {
  const [line] = linesOf((logger) => logger.info({ protocol: 'rest', bytes: 7, detail: { ready: true } }, 'listening'));
  expect(line).toMatch(/^\d\d:\d\d:\d\d INFO listening protocol=rest bytes=7 detail={"ready":true}\n$/);
});

test('an error has its message in the line, and its stack behind it', () => {
  const [line] = linesOf((logger) => logger.error({ err: new Error('no disk') }, 'it failed'));
  expect(line).toMatch(/^\S+ ERROR it failed err=no disk\n {2}Error: no disk\n {4,}at /);
});
