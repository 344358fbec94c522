import { openSync } from 'node:fs';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openPipe, openStoppedTerminal } from '../../support/outlets.ts';
import type { LogLine } from '../../support/running-service.ts';
import { UnreadService } from '../../support/unread-service.ts';

/** Their lines are more than a pipe, a socket and a terminal hold, and less than the service keeps. */
const SOME = 1_500;
/** Their lines, of over 270 bytes each, are more than the 4 MiB that the service keeps, however quickly it answers. */
const MANY = 17_000;

/** The lines that are written from now on, and those that wait. What is no JSON, such as the welcome, is left out. */
function linesOf(stdout: Readable): { readonly lines: LogLine[]; readonly ended: Promise<void> } {
  const lines: LogLine[] = [];
  const reading = createInterface({ input: stdout });
  reading.on('line', (line) => line.startsWith('{') && lines.push(JSON.parse(line)));
  return { lines, ended: new Promise((resolve) => reading.once('close', resolve)) };
}

const read = (reader: number) => linesOf(new Socket({ fd: reader, writable: false }));

const requestIds = (lines: readonly LogLine[]) =>
  lines.filter(({ msg }) => msg === 'request').map(({ requestId }) => Number(requestId));

const ids = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);

test.each([
  ['pipe', async () => ({ writer: openPipe().writer })],
  ['socket', async () => ({ writer: 'pipe' as const })],
  ['terminal', openStoppedTerminal],
])('a %s that nobody reads holds up neither requests nor the end', async (_kind, open) => {
  await using disposed = new AsyncDisposableStack();
  const outlet = await open();
  if (Symbol.asyncDispose in outlet) disposed.use(outlet);
  const service = disposed.use(await UnreadService.start(outlet.writer));
  await service.serve(0, SOME);
  expect(await service.dropped()).toBe(0);
  service.process.kill('SIGTERM');
  expect(await service.ended()).toBe(0);
});

test('beyond a bound lines are dropped and counted, at one place that a line names; read again, the log goes on', async () => {
  const { reader, writer } = openPipe();
  await using service = await UnreadService.start(writer);
  await service.serve(0, MANY);
  const dropped = await service.dropped();
  expect(dropped).toBeGreaterThan(0);
  const { lines, ended } = read(reader);
  while (!lines.some((line) => 'dropped' in line)) await sleep(10);
  await service.serve(MANY, SOME);
  service.process.kill('SIGTERM');
  expect(await service.ended()).toBe(0);
  await ended;

  const gap = lines.findIndex((line) => 'dropped' in line);
  expect(lines[gap]).toMatchObject({ level: 'error', dropped });
  const before = requestIds(lines.slice(0, gap));
  expect(before.length).toBe(MANY - dropped);
  expect(requestIds(lines.slice(gap)).toSorted((a, b) => a - b)).toEqual(ids(MANY, SOME));
  expect(lines.at(-1)).toMatchObject({ msg: 'stopped' });
});

test('a reader that is gone, and a full disk, hold up nothing', async () => {
  for (const stdout of ['pipe', openSync('/dev/full', 'w')] as const) {
    await using service = await UnreadService.start(stdout);
    service.process.stdout?.destroy();
    await service.serve(0, 100);
    service.process.kill('SIGTERM');
    expect(await service.ended()).toBe(0);
  }
});

test('every request that was answered before SIGTERM under load has its line, and the last line is the last', async () => {
  const { reader, writer } = openPipe();
  await using service = await UnreadService.start(writer);
  await service.serve(0, SOME);
  const load = service.serve(SOME, MANY).catch(() => 'broken off');
  while (service.answered.length < SOME + 500) await sleep(5);
  service.process.kill('SIGTERM');
  const { lines, ended } = read(reader);
  expect(await service.ended()).toBe(0);
  expect(await load).toBe('broken off');
  await ended;
  const logged = new Set(requestIds(lines));
  expect(service.answered.filter((id) => !logged.has(id))).toEqual([]);
  expect(lines.at(-1)).toMatchObject({ msg: 'stopped' });
});

test('what it crashes with is there even when there is no room for more lines', async () => {
  const { reader, writer } = openPipe();
  const thrower = "process.on('SIGUSR2', () => { throw new Error('thrown by the test') })";
  const environment = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(thrower)}` };
  await using service = await UnreadService.start(writer, environment);
  await service.serve(0, MANY);
  expect(await service.dropped()).toBeGreaterThan(0);
  service.process.kill('SIGUSR2');
  const { lines, ended } = read(reader);
  expect(await service.ended()).toBe(1);
  await ended;
  expect(lines).toContainEqual(
    expect.objectContaining({ level: 'fatal', err: expect.objectContaining({ message: 'thrown by the test' }) }),
  );
});
