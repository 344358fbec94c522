import { expect, test } from 'vitest';
import { openLog } from '../../src/log/log.ts';
import { openMemoryStore } from '../simulation/store/open-memory.ts';
import { added, append, project } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';

async function lastOf<Item>(items: AsyncIterable<Item>): Promise<Item | undefined> {
  let last: Item | undefined;
  for await (const item of items) last = item;
  return last;
}

test('an instance that may not erase holds up none that may', async () => {
  const { store, second } = await openMemoryStore();
  const may = openLog(await second(), { onFault: () => {} });
  const mayNot = override(store, {
    // biome-ignore lint/correctness/useYield: it fails before the first piece
    async *eraseContents() {
      throw new Error('not authorized');
    },
  });
  await append(store, added('gone', 1n));
  await project(store);
  const key = Buffer.alloc(16, 7);
  const first = await openLog(mayNot, { onFault: () => {} });
  const erasing = first.erase({ owner: 'gone', actor: 'operator', key });
  await expect(lastOf(erasing)).rejects.toThrow('not authorized');
  first.finishErasures(() => {});
  const log = await may;
  const outcome = await lastOf(log.erase({ owner: 'gone', actor: 'operator', key }));
  expect(outcome).toMatchObject({ position: 2, events: 1 });
  for (const each of [first, log]) await each.close();
});
