import { describe, expect, test } from 'vitest';
import type { PlantEvent } from '../../src/domain/events.ts';
import { added, append, deleted } from '../support/events.ts';
import { readLog } from '../support/fold.ts';
import { type OpenStore, withStore } from './open-store.ts';

const withKey = (idempotencyKey: string, event: PlantEvent): PlantEvent => ({ ...event, idempotencyKey });

/** What every store has to keep of idempotency keys. */
export function namedContract(open: OpenStore): void {
  const on = withStore(open);

  describe('idempotency keys', () => {
    test(
      'the last event of each is found, in the order of the question, and nothing of another owner or key',
      on(async ({ store }) => {
        const events = await append(
          store,
          withKey('k', added('alice', 1n)),
          withKey('k', added('bob', 1n)),
          added('alice', 2n),
          withKey('k', deleted('alice', 1n)),
          withKey('K', added('alice', 3n, 'Fern', 'indoor')),
          withKey(' "\\,;$ne{}', added('a\u0000', 1n)),
          withKey('bob', added('k', 1n)),
        );
        const key = (owner: string, idempotencyKey: string) => ({ owner, idempotencyKey });
        const asked = [
          key('alice', 'K'),
          key('alice', 'other'),
          key('bob', 'k'),
          key('alice', 'k'),
          key('bob', 'K'),
          key('a\u0000', ' "\\,;$ne{}'),
          key('a', ' "\\,;$ne{}'),
          key('alice', ''),
          key('nobody', 'k'),
          key('alice', 'K'),
        ];
        const found = [5, 0, 2, 4, 0, 6, 0, 0, 0, 5];
        expect(await store.findByIdempotencyKeys(asked)).toEqual(found.map((position) => events[position - 1]));
        expect(await readLog(store)).toEqual(events);
      }),
    );

    test(
      'a key is found among those of owners who use the same ones, with the longest texts',
      on(async ({ store }) => {
        const owners = Array.from({ length: 64 }, (_, index) => `${index} ${'𝕏'.repeat(512)}`);
        const long = '𝕏'.repeat(512);
        for (const [at] of owners.slice(0, 16).entries())
          await append(store, ...owners.map((owner) => withKey(`${at}`, added(owner, BigInt(at), long, long))));
        const asked = owners.map((owner, index) => ({ owner, idempotencyKey: `${index % 16}` }));
        const found = await store.findByIdempotencyKeys(asked);
        expect(found.map((event) => event?.position)).toEqual(owners.map((_, index) => (index % 16) * 64 + index + 1));
      }),
    );

    test(
      'a batch of many keys of many owners is answered at once, on another handle too',
      on(async ({ store, second }) => {
        const owners = Array.from({ length: 512 }, (_, index) => `owner ${index}`);
        for (const id of [1n, 2n])
          await append(store, ...owners.map((owner, index) => withKey(`${index % 7}`, added(owner, id))));
        const other = await second();
        const found = await other.findByIdempotencyKeys(
          owners.map((owner, index) => ({ owner, idempotencyKey: `${index % 7}` })),
        );
        expect(found.map((event) => event?.position)).toEqual(owners.map((_, index) => 513 + index));
        const same = await other.findByIdempotencyKeys(
          owners.map((_, index) => ({ owner: 'owner 3', idempotencyKey: `${index}` })),
        );
        expect(same.map((event) => event?.position)).toEqual(owners.map((_, index) => (index === 3 ? 516 : undefined)));
      }),
    );
  });
}
