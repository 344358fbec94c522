import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { client, expectError, type RequestParts, type Send } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { named } from '../support/named.ts';

let service: LocalService;

beforeAll(async () => {
  service = await startLocalService();
});

afterAll(() => service.stop());

/** A client whose owner has no plants yet. */
const newOwner = async (): Promise<Send> => client(service.url, await service.token(randomUUID()));

describe('DELETE /plants/{id}', () => {
  test('deletes once, and the id is free again', async () => {
    const send = await newOwner();
    const positions: number[] = [];
    for (const name of ['first', 'second']) {
      const added = await send('POST', '/plants', { body: JSON.stringify({ id: 7, name }) });
      expect(added.text).toBe(JSON.stringify({ name }));
      const deleted = await send('DELETE', '/plants/7');
      expect({ ...deleted, headers: undefined }).toEqual({ status: 204, text: '' });
      expect(deleted.headers).not.toHaveProperty('content-type');
      expect(deleted.headers).not.toHaveProperty('content-length');
      expectError(await send('DELETE', '/plants/7'), 404, 5);
      positions.push(...[added, deleted].map(({ headers }) => Number(headers['plantstore-position'])));
    }
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
    expect(new Set(positions).size).toBe(4);
    expect((await send('GET', '/plants')).text).toBe('[]');
  });

  test.each(
    named<[RequestParts]>([
      [{ headers: { 'content-type': 'application/json' } }],
      [{ body: '' }],
      [{ body: '{not json' }],
      [{ body: 'x'.repeat(2 * 1024 * 1024) }],
      [{ body: 'x', chunked: true }],
      [{ headers: { 'content-type': 'no type', 'content-encoding': 'br' } }],
    ]),
  )('ignores a body and its type: %s', async (_name, parts) => {
    const send = await newOwner();
    await send('POST', '/plants', { body: '{"id":7,"name":"Fern"}' });
    expect((await send('DELETE', '/plants/7', parts)).status).toBe(204);
  });

  test.each(
    named(
      [
        '',
        'x',
        '7x',
        '7.0',
        '7e0',
        '0x7',
        '+7',
        '--7',
        '-',
        '%20%37',
        '7%00',
        'a%2Fb',
        '%D9%A7',
        'null',
        '9223372036854775808',
        '-9223372036854775809',
        '1'.repeat(20_000),
        '1'.repeat(100_000),
        `-${'9'.repeat(1_000_000)}`,
      ].map((id) => [id]),
    ),
  )('an {id} that is no int64 is 400: %s', async (_name, id) => {
    const send = await newOwner();
    expectError(await send('DELETE', `/plants/${id}`), 400, 3);
  });

  test('an {id} may be percent-encoded', async () => {
    const send = await newOwner();
    await send('POST', '/plants', { body: '{"id":-7,"name":"Fern"}' });
    expect((await send('DELETE', '/plants/%2d%37')).status).toBe(204);
  });

  test.each(['%', '%2', '%zz', '%ff', '%c0%af', '%ed%a0%80'])('a path with %s is 400', async (id) => {
    expectError(await (await newOwner())('DELETE', `/plants/${id}`), 400, 3);
  });
});
