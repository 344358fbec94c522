import { expect, test } from 'vitest';
import { ErasedMeanwhileError, steadyView } from '../../src/audit/steady.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import type { Store } from '../../src/log/store.ts';
import { openMemoryStore } from '../simulation/store/open-memory.ts';
import { added, append, project } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';

async function arrayOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const ids = (count: number) => Array.from({ length: count }, (_, index) => BigInt(index));

/** A log with this many plants of the owner `gone`, all of them in rows, and its store. */
async function opened(count: number) {
  const { store, second } = await openMemoryStore();
  await append(store, ...ids(count).map((id) => added('gone', id)));
  await project(store);
  return { store, second, log: await openLog(store, { onFault: () => {} }) };
}

async function erase(log: EventLog): Promise<void> {
  await arrayOf(log.erase({ owner: 'gone', actor: 'operator' }));
}

test('who reads the log slowly is not told whom an OwnerErased erased once that is complete', async () => {
  const { store, log: eraser } = await opened(250);
  const inOneBatch = override(store, {
    lease: async () => false,
    async *read(...selection) {
      const all = await arrayOf(store.read(...selection));
      if (all.length > 0) yield all.flat();
    },
  });
  const log = await openLog(inOneBatch, { onFault: () => {} });
  const erasing = eraser.erase({ owner: 'gone', actor: 'operator' });
  while (!('appended' in (await erasing.next()).value!));
  const reading = log.read(0);
  expect((await reading.next()).value!.length).toBe(200);
  await arrayOf(erasing);
  const events = (await reading.next()).value as readonly LoggedEvent[];
  expect(events.at(-1)).toMatchObject({ type: 'OwnerErased', erases: undefined });
  for (const each of [log, eraser]) await each.close();
});

test.each<['get' | 'list', (log: EventLog) => Promise<unknown>, unknown]>([
  ['get', (log) => log.get({ owner: 'gone', id: 1n }), undefined],
  ['list', async (log) => (await log.list({ owner: 'gone', after: undefined, limit: undefined })).plants, []],
])(
  'an instance that stands still when the store has answered %s tells nothing of an owner who is erased',
  async (read, ask, told) => {
    const { second, log } = await opened(3);
    const reached = await second();
    const [asked, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let thawed = Promise.resolve();
    const afterThaw = <Result>(call: () => Promise<Result>) => thawed.then(call);
    const frozen: Partial<Store> = {
      lease: async () => false,
      head: () => afterThaw(() => reached.head()),
      generation: () => afterThaw(() => reached.generation()),
      checkpoint: () => afterThaw(() => reached.checkpoint()),
      async [read](...query: never[]) {
        const answer = await (reached[read] as (...query: never[]) => Promise<never>)(...query);
        thawed = goesOn.promise;
        asked.resolve();
        await goesOn.promise;
        return answer;
      },
    };
    const other = await openLog(override(reached, frozen), { onFault: () => {} });
    const answer = ask(other);
    await asked.promise;
    await erase(log);
    goesOn.resolve();
    expect(await answer).toEqual(told);
    for (const each of [log, other]) await each.close();
  },
);

test('a view of the log tells of contents that it had shown before, whether their erasure is seen by them or by its event', async () => {
  const { store, log } = await opened(2);
  const [first, second] = (await arrayOf(store.read(0))).flat();
  const erasing = log.erase({ owner: 'gone', actor: 'operator' });
  while (!('appended' in (await erasing.next()).value!));
  const [byContent, byEvent] = [await steadyView(store, { to: 2 }), await steadyView(store, { to: 2 })];
  for (const view of [byContent, byEvent]) expect(view.take([first!, second!])).toEqual([first, second]);
  await arrayOf(erasing);
  const [erased, , erasure] = (await arrayOf(store.read(0))).flat();
  expect([erasure!.type, erasure!.erases]).toEqual(['OwnerErased', undefined]);
  expect(() => byContent.take([erased!])).toThrow(ErasedMeanwhileError);
  expect(() => byEvent.take([erasure!])).toThrow(ErasedMeanwhileError);
  await log.close();
});
