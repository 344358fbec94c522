import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Caller } from '../../src/transport/admission/connection.ts';
import { type Paced, ReadPace } from '../../src/transport/grpc/read-pace.ts';

const MIB = 1024 * 1024;
const STRANGER = new Caller('');

/** A connection whose client sends what the test says. */
class Sender implements Paced {
  caller: Caller;
  isStopped = false;
  resumed = 0;
  read = 0;

  constructor(caller = STRANGER) {
    this.caller = caller;
  }

  readSince(): number {
    const { read } = this;
    this.read = 0;
    return read;
  }

  pause(): void {
    this.isStopped = true;
  }

  resume(): void {
    this.isStopped = false;
    this.resumed++;
  }
}

let pace: ReadPace;
beforeEach(() => {
  vi.useFakeTimers();
  pace = new ReadPace();
});
afterEach(() => {
  pace.close();
  vi.useRealTimers();
});

function senders(count: number, caller?: Caller): Sender[] {
  const made = Array.from({ length: count }, () => new Sender(caller));
  for (const sender of made) pace.add(sender);
  return made;
}

/** So many bytes have been read of each, once. */
function haveSent(some: readonly Sender[], bytes: number): void {
  for (const sender of some) sender.read = bytes;
  vi.advanceTimersByTime(10);
}

test('connections that together send little are read as it comes', () => {
  const modest = senders(8);
  haveSent(modest, 20_000);
  expect(modest.some(({ isStopped }) => isStopped)).toBe(false);
});

test('of those that together send much, those that sent most of it have to wait', () => {
  const [modest, large] = [senders(8), senders(8)];
  for (const sender of modest) sender.read = 1_000;
  haveSent(large, MIB);
  expect(modest.some(({ isStopped }) => isStopped)).toBe(false);
  expect(large.every(({ isStopped }) => isStopped)).toBe(true);
});

test('one that Node reads again, because it has written, is stopped again', () => {
  const [large] = senders(1);
  haveSent([large!], MIB);
  pace.hasRead(large!, 1_000);
  large!.isStopped = false;
  haveSent([large!], MIB);
  expect(large!.isStopped).toBe(true);
});

test('they read on one at a time, and after a large read only once four times as long as it took has passed', () => {
  const large = senders(4);
  haveSent(large, MIB);
  const resumed = () => large.reduce((sum, sender) => sum + sender.resumed, 0);
  vi.advanceTimersByTime(10);
  expect(resumed()).toBe(1);
  const reading = large.find(({ isStopped }) => !isStopped)!;
  reading.read = MIB;
  pace.hasRead(reading, 25);
  expect(reading.isStopped).toBe(true);
  vi.advanceTimersByTime(90);
  expect(resumed()).toBe(1);
  vi.advanceTimersByTime(10);
  expect(resumed()).toBe(2);
});

test('one that sends little for a second is read as it comes again', () => {
  const [calm] = senders(1);
  haveSent([calm!], MIB);
  for (let time = 0; time < 900; time += 10) {
    vi.advanceTimersByTime(10);
    expect(calm!.isStopped).toBe(false);
    pace.hasRead(calm!, 1);
    expect(calm!.isStopped).toBe(true);
  }
  vi.advanceTimersByTime(200);
  pace.hasRead(calm!, 1);
  expect(calm!.isStopped).toBe(false);
});

test('one whose client is gone when it reads on delays no other one', () => {
  const large = senders(4);
  haveSent(large, MIB);
  vi.advanceTimersByTime(10);
  const gone = large.filter(({ isStopped }) => !isStopped);
  expect(gone).toHaveLength(1);
  pace.remove(gone[0]!);
  expect(large.filter(({ resumed }) => resumed > 0)).toHaveLength(2);
});

test('strangers take turns, whether their connections are new or not', () => {
  const [old, fresh] = [senders(1), senders(8, new Caller(''))];
  haveSent([...old, ...fresh], MIB);
  for (let time = 0; time < 90; time += 10) {
    vi.advanceTimersByTime(10);
    for (const sender of [...old, ...fresh])
      if (!sender.isStopped) {
        sender.read = 0;
        pace.hasRead(sender, 1);
      }
  }
  expect(fresh.every(({ resumed }) => resumed > 0)).toBe(true);
});

test('the caller with the fewest of them comes first', () => {
  const [many, [one]] = [senders(8), senders(1, new Caller('alice'))];
  haveSent([...many, one!], MIB);
  vi.advanceTimersByTime(10);
  expect(one!.resumed).toBe(1);
});
