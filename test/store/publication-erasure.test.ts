import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { headAt, seal, subjectOf } from '../../src/log/event/chain.ts';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import { eventMessage } from '../../src/publisher/message.ts';
import { Publisher } from '../../src/publisher/publisher.ts';
import { added, append } from '../support/events.ts';
import { dataDirectory } from '../support/publication.ts';

const EMPTY = { position: 0, hash: '' };

test('a topic that was created during an erasure, which the former one was told of, gets nothing of the owner from before', async () => {
  using directory = dataDirectory();
  const store = openSqlite(directory.path);
  const [, before] = await append(store, added('alice', 1n), added('bob', 1n));
  const erases = { owner: 'alice', key: new Uint8Array(16), isCleared: false, isPublished: false };
  const event = { type: 'OwnerErased', actor: 'operator', erased: 1, subject: subjectOf(erases) } as const;
  const erasure = { ...seal(headAt(before!), event, randomUUID(), before!.time), erases };
  await store.append([erasure]);
  await store.erasurePublished(erasure.position);
  await append(store, added('alice', 2n));
  const keys: (string | undefined)[] = [];
  let end = 0;
  const publisher = new Publisher({
    store,
    topic: {
      open: async () => ({
        start: EMPTY,
        notice: undefined,
        publish: async (events) => {
          keys.push(...events.map((each) => eventMessage(each)?.key));
          end = events.at(-1)?.position ?? end;
        },
        close: () => {},
      }),
    },
    onChange: () => {},
  });
  await expect.poll(() => end).toBe(4);
  expect(keys).toEqual([undefined, 'bob/1', 'alice', 'alice/2']);
  await publisher.close();
  await store.close();
});
