import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { client, expectError, type Reply, type Send } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';

let service: LocalService;

beforeAll(async () => {
  service = await startLocalService();
});

afterAll(() => service.stop());

/** A client whose owner has plants of these ids, each named by its id. */
async function ownerOf(ids: readonly (number | bigint | string)[]): Promise<Send> {
  const send = client(service.url, await service.token(randomUUID()));
  await Promise.all(ids.map((id) => add(send, id)));
  return send;
}

async function add(send: Send, id: number | bigint | string): Promise<void> {
  const { status, text } = await send('POST', '/plants', { body: `{"id":${id},"name":"${id}"}` });
  expect(status, text).toBe(200);
}

const names = (reply: Reply): string[] => {
  expect(reply.status, reply.text).toBe(200);
  return JSON.parse(reply.text).map(({ name }: { name: string }) => name);
};

/** The request that a Link header names, or undefined. */
function nextOf(reply: Reply): string | undefined {
  if (reply.headers.link === undefined) return undefined;
  const [, target] = /^<([^>]+)>; rel="next"$/.exec(reply.headers.link as string)!;
  const { origin, pathname, search } = new URL(target!, `${service.url}/plants`);
  expect(origin).toBe(service.url);
  return pathname + search;
}

describe('limit', () => {
  const ids = [3, -5, 1, '9223372036854775807', '-9223372036854775808', '9007199254740993'];
  const ordered = ['-9223372036854775808', '-5', '1', '3', '9007199254740993', '9223372036854775807'];
  let send: Send;
  beforeAll(async () => {
    send = await ownerOf(ids);
  });

  test.each([
    ['', 6],
    ['?', 6],
    ['?limit=0', 0],
    ['?limit=1', 1],
    ['?limit=5', 5],
    ['?limit=6', 6],
    ['?limit=7', 6],
    ['?limit=2147483647', 6],
    ['?limit=%32', 2],
    ['?limit=2&unknown=x&unknown=y&Limit=z', 2],
    ['?limit=2&__proto__[tag]=x&constructor=1', 2],
  ])('GET /plants%s has %i plants in ascending id', async (query, count) => {
    const reply = await send('GET', `/plants${query}`);
    expect(names(reply)).toEqual(ordered.slice(0, count));
    expect(reply.headers['content-type']).toMatch(/^application\/json/);
    if (count === 6) expect(nextOf(reply)).toBeUndefined();
    if (count > 0 && count < 6) expect(nextOf(reply)).toMatch(/[?&]limit=\d+(&|$)/);
  });

  test('a cursor that was changed is 400, or goes on from another id', async () => {
    const cursor = new URL(nextOf(await send('GET', '/plants?limit=1'))!, service.url).searchParams.get('cursor')!;
    for (let at = 0; at < cursor.length; at++) {
      const changed = `${cursor.slice(0, at)}${cursor[at] === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`;
      const reply = await send('GET', `/plants?cursor=${changed}`);
      if (reply.status === 200) expect(ordered.join()).toContain(names(reply).join());
      else expectError(reply, 400, 3);
    }
  });
});

describe('a walk along the Link headers', () => {
  test('neither skips nor repeats a plant while others add and delete', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 7 }),
        async (ids, limit) => {
          const coming = ids.filter((_, index) => index % 3 === 1);
          const going = ids.filter((_, index) => index % 3 === 2);
          const staying = ids.filter((_, index) => index % 3 === 0);
          const send = await ownerOf([...staying, ...going]);
          const seen: string[] = [];
          for (let path: string | undefined = `/plants?limit=${limit}`; path !== undefined; ) {
            const [reply] = await Promise.all([
              send('GET', path),
              ...coming.splice(0, 2).map((id) => add(send, id)),
              ...going.splice(0, 2).map((id) => send('DELETE', `/plants/${id}`)),
            ]);
            seen.push(...names(reply));
            path = nextOf(reply);
          }
          expect(seen).toEqual([...new Set(seen)].sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1)));
          for (const id of staying) expect(seen).toContain(String(id));
          for (const id of seen) expect(ids.map(String)).toContain(id);
        },
      ),
      { numRuns: 15 },
    );
  });
});
