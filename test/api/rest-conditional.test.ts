import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { client, type Reply, type Send } from '../support/http.ts';
import { HttpApp } from '../support/http-app.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';

let service: LocalService;
let uncached: LocalService;

beforeAll(async () => {
  [service, uncached] = await Promise.all([startLocalService(), startLocalService({ LIST_CACHE_BYTES: '0' })]);
});

afterAll(() => Promise.all([service.stop(), uncached.stop()]));

const plants = [
  [1, 'Fern', 'indoor'],
  [2, '"\\\n\u0000', '🌱é'],
  [3, '', ''],
] as const;

async function ownerOf(on: LocalService): Promise<Send> {
  const send = client(on.url, await on.token(randomUUID()));
  for (const [id, name, tag] of plants) await add(send, id, name, tag);
  return send;
}

async function add(send: Send, id: number, name: string, tag?: string): Promise<void> {
  expect((await send('POST', '/plants', { body: JSON.stringify({ id, name, tag }) })).status).toBe(200);
}

const list = (send: Send, ifNoneMatch?: string | string[], path = '/plants', method = 'GET'): Promise<Reply> =>
  send(method, path, { ...(ifNoneMatch !== undefined && { headers: { 'If-None-Match': ifNoneMatch } }) });

const tagOf = ({ headers: { etag } }: Reply): string => {
  expect(etag).toMatch(/^"[\w-]+"$/);
  return etag!;
};

test('the tag is of what the list holds: the same each time, on every instance and for every owner of the same plants', async () => {
  const [one, other, third] = await Promise.all([ownerOf(service), ownerOf(service), ownerOf(uncached)]);
  const replies = await Promise.all([one, one, other, third].map((send) => list(send)));
  expect(new Set(replies.map(tagOf)).size).toBe(1);
  expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
  for (const { headers } of replies) expect(headers['cache-control']).toBe('private, no-cache');
});

test('lists have the same bytes and headers whether they are remembered or not', async () => {
  const [one, other] = await Promise.all([ownerOf(service), ownerOf(uncached)]);
  for (const query of ['', '?limit=0', '?limit=1', '?limit=1&view=BASIC', '?limit=2', '?limit=3', '?limit=4'])
    for (const _again of [1, 2]) {
      const replies = await Promise.all([one, other].map((send) => list(send, undefined, `/plants${query}`)));
      const [remembered, read] = replies.map(({ status, text, headers: { date, ...headers } }) => {
        expect(date).toBeDefined();
        return { status, text, headers };
      });
      expect(remembered).toEqual(read);
    }
});

test('the tag changes with the list, with its limit and with whether there is more', async () => {
  const send = await ownerOf(service);
  const [whole, limited] = await Promise.all([list(send), list(send, undefined, '/plants?limit=3')]);
  expect(tagOf(limited)).toBe(tagOf(whole));
  await add(send, 4, 'Fern');
  const cut = await list(send, tagOf(limited), '/plants?limit=3');
  expect([cut.status, cut.text]).toEqual([200, limited.text]);
  expect(cut.headers.link).toBeDefined();
  const changed = await list(send, tagOf(whole));
  expect(changed.status).toBe(200);
  await send('DELETE', '/plants/4');
  expect((await list(send, tagOf(whole))).status).toBe(304);
  // Another one, of the same length.
  await add(send, 4, 'Moss');
  expect(JSON.parse((await list(send, tagOf(changed))).text).at(-1)).toEqual({ name: 'Moss' });
});

describe('If-None-Match', () => {
  let send: Send;
  let tag: string;
  beforeAll(async () => {
    send = await ownerOf(service);
    tag = tagOf(await list(send));
  });

  test.each<[string, (tag: string) => string | string[]]>([
    ['the tag', (own) => own],
    ['the tag, marked as weak', (own) => `W/${own}`],
    ['several, the tag first', (own) => `${own}, "x"`],
    ['several, the tag last', (own) => `"x",W/"y,z" ,\t${own}`],
    ['empty members', (own) => `, ,${own},`],
    ['several headers', (own) => ['"x"', own]],
    ['any', () => '*'],
  ])('%s: 304 without a body, with the tag', async (_name, value) => {
    for (const method of ['GET', 'HEAD']) {
      const { status, text, headers } = await list(send, value(tag), '/plants', method);
      expect([status, text]).toEqual([304, '']);
      expect(headers).toMatchObject({ etag: tag, 'cache-control': 'private, no-cache', vary: 'accept' });
      expect([headers['content-type'], headers['content-length']]).toEqual([undefined, undefined]);
    }
  });

  test.each<[string, (tag: string) => string]>([
    ['another', () => '"x"'],
    ['none', () => ''],
    ['the tag without its quotes', (own) => own.slice(1, -1)],
    ['a part of the tag', (own) => `${own.slice(0, -2)}"`],
    ['the tag inside another', (own) => `"x${own.slice(1)}`],
    ['the tag beside what is no tag', (own) => `${own}, x`],
    ['the tag and any', (own) => `${own}, *`],
    ['tags without a comma', (own) => `"x" ${own}`],
    ['a small mark', (own) => `w/${own}`],
  ])('%s: the list', async (_name, value) => {
    const { status, text, headers } = await list(send, value(tag));
    expect([status, headers.etag]).toEqual([200, tag]);
    expect(JSON.parse(text)).toHaveLength(plants.length);
  });

  test('a next page has the Link of the list, with 304 too', async () => {
    const { headers } = await list(send, undefined, '/plants?limit=2');
    const again = await list(send, headers.etag, '/plants?limit=2');
    expect([again.status, again.headers.link]).toEqual([304, headers.link]);
  });

  test('what fails, fails', async () => {
    expect((await list(send, '*', '/plants?limit=x')).status).toBe(400);
    expect((await list(client(service.url), '*')).status).toBe(401);
  });

  test('it is no condition of a POST', async () => {
    const reply = await send('POST', '/plants', { body: '{"id":9,"name":""}', headers: { 'if-none-match': '*' } });
    expect([reply.status, reply.headers.etag, reply.headers['cache-control']]).toEqual([200, undefined, undefined]);
    await send('DELETE', '/plants/9');
  });
});

test('HEAD has the headers of GET', async () => {
  const send = await ownerOf(service);
  const [get, head] = [await list(send), await list(send, undefined, '/plants', 'HEAD')];
  expect(head.text).toBe('');
  for (const name of ['etag', 'cache-control', 'content-length', 'content-type', 'vary'])
    expect([name, head.headers[name]]).toEqual([name, get.headers[name]]);
  expect(Number(get.headers['content-length'])).toBe(Buffer.byteLength(get.text));
});

test.each([10, 1_000])('a list of %i plants has its length in bytes, whatever its text', async (size) => {
  const rows = Array.from({ length: size }, (_, id) => ({ name: `é🌱"${id}` }));
  await using app = await HttpApp.rest({ listPlants: async () => ({ plants: rows, nextCursor: '' }) });
  const reply = await client(app.url)('GET', '/plants');
  expect(JSON.parse(reply.text)).toEqual(rows);
  expect(Number(reply.headers['content-length'])).toBe(Buffer.byteLength(reply.text));
});

test('a list that is streamed has no tag, and ends at once for a client that takes any', async () => {
  let returned = 0;
  async function* batches() {
    try {
      yield [{ name: 'Fern' }];
    } finally {
      returned++;
    }
  }
  const source = async () => {
    const iterator = batches();
    const opened = {
      next: () => iterator.next(),
      return: async () => void returned++,
      [Symbol.asyncIterator]: () => opened,
    };
    return { plants: opened, nextCursor: '' };
  };
  await using app = await HttpApp.rest({ listPlants: source });
  const send = client(app.url);
  const whole = await list(send, '"x"');
  expect([whole.status, whole.text, whole.headers.etag]).toEqual([200, '[{"name":"Fern"}]', undefined]);
  const before = returned;
  expect((await list(send, '*')).status).toBe(304);
  expect(returned).toBe(before + 1);
});
