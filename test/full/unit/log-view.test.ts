import { create } from '@bufbuild/protobuf';
import { expect, test, vi } from 'vitest';
import { type Record, RecordSchema } from '../../../gen/plantstore/v1/event_pb.ts';

// Its types are those of a browser, which the tests have not.
const LOG_VIEW: string = '../../../console/src/log/log-view.ts';

/** Answers to `readStretch` wait for this. */
let answered = Promise.resolve();
const HEAD = 30_000n;

const after = (position: bigint, to: bigint): Record[] =>
  Array.from({ length: Number(to - position) }, (_, index) =>
    create(RecordSchema, { event: { position: position + BigInt(index) + 1n, type: 'PlantAdded' } }),
  );

const appended = new TransformStream<{ records: Record[]; position: bigint }>();
const writer = appended.writable.getWriter();
const append = (from: bigint, to: bigint) => writer.write({ records: after(from, to), position: to });

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
