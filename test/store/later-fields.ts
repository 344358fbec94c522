import { expect, test } from 'vitest';
import { decodeExport, FORMATS } from '../../src/audit/formats/formats.ts';
import { importLog } from '../../src/audit/import.ts';
import { headAt, seal } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../../src/log/event/event.ts';
import { openLog } from '../../src/log/log.ts';
import type { Store } from '../../src/log/store.ts';
import { added, deleted, project } from '../support/events.ts';
import { extended, type UnknownFields } from '../support/extended.ts';
import { override } from '../support/faulty-store.ts';
import { readAnyLog, verifyLog } from '../support/fold.ts';
import { checkpointOf } from '../support/tree.ts';
import { field } from '../support/wire.ts';
import { type OpenDatabase, verdictOf } from './audit-tampering.ts';

/** The owner who is erased, and what only a field that this release does not know says of them. */
const ERASED_OWNER = 'Xaviera';
const SECRET = 'known-to-a-later-release';

const fixed = (length: number) => ({ fixed: new Uint8Array(length).fill(7) });

/** Fields of every wire type in every message. */
const LATER: UnknownFields = {
  event: [field(9, 300n), field(9, -1n), field(11, 'public'), field(12, fixed(4)), field(14, fixed(8))],
  content: [field(10, SECRET), field(11, fixed(8)), field(13, fixed(4)), field(14, 7n)],
  data: [field(9, 2n ** 63n - 1n), field(10, SECRET), field(11, fixed(4)), field(14, fixed(8))],
};

/** A log of this release and of a later one, in turns: events with unknown fields in each message alone, and in all. */
export function laterEvents(): LoggedEvent[] {
  const own = { owner: ERASED_OWNER, actor: ERASED_OWNER };
  const { event, content, data } = LATER as Required<UnknownFields>;
  const made: [Parameters<typeof seal>[1], UnknownFields?][] = [
    [added('alice', 1n, 'Fern', 'indoor')],
    [{ ...added(ERASED_OWNER, 1n), ...own, idempotencyKey: 'k' }, LATER],
    [added('alice', 2n, 'Palm'), { event }],
    [deleted('alice', 1n), LATER],
    [{ ...added(ERASED_OWNER, 2n), ...own }, { content }],
    [added('alice', 3n, '', ''), { data }],
    [
      { type: 'OwnerErased', actor: 'operator', erased: 0 },
      { event, content },
    ],
    [{ ...deleted(ERASED_OWNER, 2n), ...own }, { data }],
    [added('bob', 1n)],
  ];
  let head: Head = EMPTY_HEAD;
  return made.map(([domain, unknown]) => {
    const sealed = seal(head, domain, crypto.randomUUID(), Date.now());
    const logged = unknown ? extended(sealed, unknown, head) : sealed;
    head = headAt(logged);
    return logged;
  });
}

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += 100) yield bytes.subarray(from, from + 100);
}

/** Events from a later release survive in every store: they have fields that this release does not know. */
export function laterFieldsContract(name: string, open: OpenDatabase): void {
  const holding = async (events: readonly LoggedEvent[]) => {
    const opened = await open();
    expect(await opened.store.append(events)).toBe(events.length);
    await project(opened.store);
    return opened;
  };

  const expectMoved = async (store: Store) => {
    const events = await readAnyLog(store);
    for (const format of Object.values(FORMATS)) {
      const bytes = Buffer.from(format.encode(events));
      const other = await open();
      for await (const _ of importLog(other.store, decodeExport(chunksOf(bytes))));
      expect(await readAnyLog(other.store)).toEqual(events);
      for (const again of Object.values(FORMATS))
        expect(Buffer.from(again.encode(await readAnyLog(other.store)))).toEqual(Buffer.from(again.encode(events)));
      expect((await verdictOf(other.store)).places).toEqual({});
      await other.cleanup();
    }
  };

  test(`on ${name}, events of a later release are kept, verified, exported and imported to the byte`, async () => {
    const events = laterEvents();
    const opened = await holding(events);
    expect(events.filter(({ isExtended }) => isExtended)).toHaveLength(7);
    expect(await readAnyLog(opened.store)).toEqual(events);
    expect((await verdictOf(opened.store, { checkpoint: checkpointOf(events) })).places).toEqual({});
    await expectMoved(opened.store);
    await opened.cleanup();
  });

  test(`on ${name}, this release writes after them, and erases what only a later one can read`, async () => {
    const before = laterEvents();
    const opened = await holding(before);
    const log = await openLog(override(opened.store, { close: async () => {} }), { onFault: () => {} });
    const command = {
      type: 'AddPlant',
      owner: 'alice',
      actor: 'alice',
      plant: { id: 9n, name: 'Ivy', tag: '' },
    } as const;
    await log.submit(command);
    for await (const _ of log.erase({ owner: ERASED_OWNER, actor: 'operator' }));
    await log.close();
    const after = await readAnyLog(opened.store);
    verifyLog(after);
    const frame = ({ bytes, hash }: LoggedEvent) => [bytes, hash].map((each) => Buffer.from(each).toString('hex'));
    expect(after.slice(0, before.length).map(frame)).toEqual(before.map(frame));
    for (const [index, { event }] of before.entries()) {
      const isErased = event?.type !== 'OwnerErased' && event?.owner === ERASED_OWNER;
      expect(after[index]!.content).toEqual(isErased ? undefined : before[index]!.content);
    }
    const { places } = await verdictOf(opened.store, { checkpoint: checkpointOf(before) });
    expect(places).toEqual({});
    await expectMoved(opened.store);
    await opened.cleanup();
  });
}
