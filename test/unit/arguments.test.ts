import { expect, test } from 'vitest';
import { moment, time } from '../../src/cli/arguments.ts';

test('a fraction below a millisecond is between two of them, however many digits it has', () => {
  const whole = Date.parse('2026-01-02T03:04:05.678Z');
  for (const text of ['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.678000Z', '2026-01-02T04:04:05.6780+01:00'])
    expect(time(text)).toBe(whole);
  for (const text of [
    '2026-01-02T03:04:05.6789Z',
    '2026-01-02T03:04:05.678000001Z',
    '2026-01-02T03:04:05.6780001+00:00',
  ]) {
    expect(time(text)).toBe(whole + 0.5);
    expect(moment(text)).toEqual({ time: whole + 0.5 });
  }
});
