import { closeSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LogOutput } from '../../src/observe/log-output.ts';
import { openPipe } from '../support/outlets.ts';

test('lines that wait when the reader goes away are counted as dropped, as all after them are', () => {
  const { reader, writer } = openPipe();
  const output = new LogOutput(writer);
  for (const line of ['one\n', 'two\n', 'three\n']) output.write(line);
  closeSync(reader);
  output.flushSync();
  expect(output.dropped).toBe(3);
  output.write('four\n');
  expect(output.dropped).toBe(4);
  closeSync(writer);
});
