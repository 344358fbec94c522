import { expect, test } from 'vitest';
import { moment, plantId, subjectKey, time } from '../../src/cli/arguments.ts';

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

test('the key of a subject is a whole one: a part of one would begin another erasure', () => {
  const key = Buffer.from('a9d7664f538a5789fa67e8b602f000ca', 'hex');
  for (const text of [key.toString('hex'), key.toString('hex').toUpperCase(), key.toString('base64')])
    expect([...subjectKey(text)], text).toEqual([...key]);
  const [hex, base64] = [key.toString('hex'), key.toString('base64')];
  for (const text of ['', hex.slice(0, 22), hex.slice(1), `${hex}0`, base64.slice(0, 22), ` ${base64}`, `${base64}!`])
    expect(() => subjectKey(text), text).toThrow('the 16 bytes of a key');
});

test('the id of a plant is any int64, and no other number', () => {
  const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n];
  for (const id of [least, 0n, most]) expect(plantId(`${id}`)).toBe(id);
  for (const text of [`${least - 1n}`, `${most + 1n}`, '', '0x10', '1.0', ' 7'])
    expect(() => plantId(text), text).toThrow('a whole number from -9223372036854775808 to 9223372036854775807');
});
