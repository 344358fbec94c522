import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { beforeEach, expect, test, vi } from 'vitest';
import { type Record, RecordSchema } from '../../../gen/plantstore/v1/event_pb.ts';

// Its types are those of a browser, which the tests have not.
const LOG_VIEW: string = '../../../console/src/log/log-view.ts';

/** Answers to `readStretch` wait for this. */
let answered = Promise.resolve();
const HEAD = 30_000n;
/** Which log it is that is read: in the id of each event. */
let log = '';

const after = (position: bigint, to: bigint): Record[] =>
  Array.from({ length: Number(to - position) }, (_, index) =>
    create(RecordSchema, {
      event: {
        position: position + BigInt(index) + 1n,
        type: 'PlantAdded',
        eventId: `${log}${position + BigInt(index)}`,
      },
    }),
  );

let appended = new TransformStream<{ records: Record[]; position: bigint }>();
let writer = appended.writable.getWriter();
const append = (from: bigint, to: bigint) => writer.write({ records: after(from, to), position: to });
beforeEach(() => {
  appended = new TransformStream();
  writer = appended.writable.getWriter();
  answered = Promise.resolve();
  log = '';
});

vi.mock('../../../console/src/log/reader.ts', () => ({
  readHead: async () => ({ position: HEAD }),
  readStretch: async (from: bigint, to: bigint) => {
    await answered;
    return after(from, to);
  },
  followFrom: () => appended.readable,
}));

test('no event of the log is left out where new events push old rows out while older ones are read', async () => {
  const { LogView } = await import(LOG_VIEW);
  const view = new LogView({});
  const stop = new AbortController();
  void view.run(() => {}, stop.signal);
  await append(HEAD, 49_700n);
  await vi.waitFor(() => expect(view.count).toBe(19_900));
  const reading = Promise.withResolvers<void>();
  answered = reading.promise;
  const more = view.more();
  await append(49_700n, 50_000n);
  await vi.waitFor(() => expect(view.at(0).event!.position).toBe(50_000n));
  reading.resolve();
  await more;
  for (let index = 0; index < view.count; index++) expect(view.at(index).event!.position).toBe(50_000n - BigInt(index));
  stop.abort();
});

test('while it is paused, no more events are kept than are shown, and none is left out after that', async () => {
  const { LogView } = await import(LOG_VIEW);
  const view = new LogView({});
  view.isHeld = true;
  const stop = new AbortController();
  void view.run(() => {}, stop.signal);
  for (let from = HEAD; from < 80_000n; from += 10_000n) await append(from, from + 10_000n);
  await vi.waitFor(() => expect(view.waiting.value).toBe(50_000));
  view.isHeld = false;
  expect(view.count).toBe(20_000);
  await view.more();
  for (let index = 0; index < view.count; index++) expect(view.at(index).event!.position).toBe(80_000n - BigInt(index));
  stop.abort();
});

test('nothing stays of another log than the one that is there, nor where its reading is refused', async () => {
  const { LogView } = await import(LOG_VIEW);
  const view = new LogView({});
  const run = () => view.run(() => {}, new AbortController().signal).catch(() => {});
  const first = run();
  await vi.waitFor(() => expect(view.count).toBeGreaterThan(0));
  await writer.abort(new TypeError('broken off'));
  await first;
  expect(view.count).toBeGreaterThan(0);

  log = 'restored';
  appended = new TransformStream();
  writer = appended.writable.getWriter();
  const second = run();
  await vi.waitFor(() => expect(view.at(0)?.event.eventId).toMatch(/^restored/));
  for (let index = 0; index < view.count; index++) expect(view.at(index).event!.eventId).toMatch(/^restored/);
  await writer.abort(new ConnectError('the owner is erased', Code.FailedPrecondition));
  await second;
  expect(view.count).toBe(0);
});
