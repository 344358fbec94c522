import { pino } from 'pino';
import { expect, test } from 'vitest';
import { witnessMetrics } from '../../src/observe/metrics/counts.ts';
import { Metrics } from '../../src/observe/metrics/metrics.ts';

test('a witness that fails anew after it had recovered is told of anew, also with the same outcome; while it fails, once', () => {
  const lines: string[] = [];
  const logger = pino({}, { write: (line) => lines.push(line) });
  const told = witnessMetrics(new Metrics(), logger, ['one.example', 'two.example']);
  const error = new Error('the witness one.example answered 500');
  const fail = (witness = 'one.example') => told(witness, 'failed', error);
  const cosign = () => told('one.example', 'cosigned', undefined);
  cosign();
  for (let round = 0; round < 3; round++) {
    fail();
    fail();
    cosign();
    cosign();
  }
  // That another instance was faster is no news.
  told('one.example', 'late', error);
  cosign();
  fail('two.example');
  told('two.example', 'forked', error);
  const once = ['the witness did not cosign', 'the witness cosigns again'];
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
    ...once,
    ...once,
    ...once,
    'the witness did not cosign',
    'the witness did not cosign',
  ]);
});
