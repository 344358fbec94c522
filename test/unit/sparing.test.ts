import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type ReportedFault, sampler, sparing } from '../../src/observe/sparing.ts';

let written: ReportedFault[];
let report: (fault: unknown) => void;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  written = [];
  report = sparing((fault) => written.push(fault));
});

afterEach(() => {
  vi.useRealTimers();
});

const full = () => Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 });

test('a fault is written at once, and while it goes on twice a minute, with how often it came since', () => {
  for (let second = 0; second < 600; second++) {
    for (let count = 0; count < 5; count++) report(full());
    vi.advanceTimersByTime(1_000);
  }
  expect(written).toHaveLength(20);
  expect(written[0]).toEqual({ err: full() });
  for (const fault of written.slice(1)) expect(fault).toEqual({ err: full(), repeated: 149 });
});

test('another fault is written at once, however often the first one comes', () => {
  const others = [
    new Error('disk I/O error'),
    Object.assign(full(), { errcode: 778 }),
    Object.assign(full(), { code: 'ENOSPC' }),
    new TypeError('database or disk is full'),
    new Error('database or disk is full', { cause: new Error('the quota of the user') }),
    'database or disk is full',
  ];
  for (let count = 0; count < 10; count++) report(full());
  for (const other of others) {
    report(other);
    report(full());
    report(other);
  }
  expect(written).toEqual([full(), ...others].map((err) => ({ err })));
});

test('what a driver measures or counts makes no other fault', () => {
  const silent = (attempt: number) =>
    new Error(`mongo:27017 does not answer (Socket 'connect' timed out after ${3_000 + attempt}ms)`, {
      cause: new Error(`connection ${attempt} to 10.0.0.1:27017 closed`),
    });
  for (let attempt = 0; attempt < 100; attempt++) report(silent(attempt));
  expect(written).toEqual([{ err: silent(0) }]);
  report(new Error('read ECONNRESET'));
  expect(written).toHaveLength(2);
});

test('a fault that comes once in a while is written each time', () => {
  for (let hour = 0; hour < 3; hour++) {
    report(full());
    vi.advanceTimersByTime(3_600_000);
  }
  expect(written).toEqual([{ err: full() }, { err: full() }, { err: full() }]);
});

test('endless kinds of faults fill no memory: the one that was written first is forgotten', () => {
  for (let kind = 0; kind < 257; kind++) report(new Error(`fault ${kind}`));
  for (const kind of [256, 0]) report(new Error(`fault ${kind}`));
  expect(written.map(({ err }) => (err as Error).message).slice(256)).toEqual(['fault 256', 'fault 0']);
});

test('a sampler lets the first of each kind through, and tells with the next how many it did not', () => {
  const sample = sampler(60_000, 3);
  const ask = (kind: string, times: number) => Array.from({ length: times }, () => sample(kind));
  expect(ask('401', 5)).toEqual([0, 0, 0, undefined, undefined]);
  expect(ask('404', 1)).toEqual([0]);
  vi.advanceTimersByTime(59_999);
  expect(ask('401', 1)).toEqual([undefined]);
  vi.advanceTimersByTime(1);
  expect(ask('401', 5)).toEqual([3, 0, 0, undefined, undefined]);
});
