import { get } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Call } from '../../src/call.ts';
import { ERRORS, InvalidFieldError, PlantStoreError, type Reason } from '../../src/domain/errors.ts';
import { client, expectError } from '../support/http.ts';
import { HttpApp } from '../support/http-app.ts';

const failing = (thrown: unknown) => HttpApp.rest({ listPlants: () => Promise.reject(thrown) });

test.each(Object.entries(ERRORS))('%s has its status and its code', async (reason, { status, code, ...after }) => {
  await using app = await failing(new PlantStoreError(reason as Reason, 'do "this" instead'));
  const reply = await client(app.url)('GET', '/plants');
  expect(expectError(reply, status, code)).toBe('do "this" instead');
  const { retryAfter }: { retryAfter?: number } = after;
  if (status === 503) expect(retryAfter).toBeDefined();
  expect(reply.headers['retry-after']).toBe(retryAfter?.toString());
});

test.each([
  [new InvalidFieldError('plant.name', 'must not be that of plant.tag'), 'name must not be that of plant.tag'],
  [new InvalidFieldError('plants.name', 'is missing'), 'plants.name is missing'],
  [new PlantStoreError('IDEMPOTENCY_KEY_REUSED', 'plant.name was another'), 'plant.name was another'],
])('a field of the body has the name that it has there: %s', async (thrown, told) => {
  await using app = await HttpApp.rest({ createPlant: () => Promise.reject(thrown) });
  const reply = await client(app.url)('POST', '/plants', { body: '{"id":1,"name":"Fern"}' });
  expect(expectError(reply, thrown.status, thrown.code)).toBe(told);
});

test('what a caller should know beside the message is in the headers', async () => {
  await using app = await failing(
    new PlantStoreError('RATE_LIMITED', 'wait', { retryAfter: 7, challenge: 'Bearer x="y"' }),
  );
  const { headers } = await client(app.url)('GET', '/plants');
  expect(headers).toMatchObject({ 'retry-after': '7', 'www-authenticate': 'Bearer x="y"' });
});

test.each([
  ['an Error', new Error('secret at 10.0.0.1')],
  ['an error with a status', Object.assign(new Error('secret'), { statusCode: 404, code: 'E11000' })],
  ['a connection error', Object.assign(new Error('secret'), { code: 'ECONNRESET' })],
  ['a text', 'secret'],
  ['nothing', undefined],
])('%s is 500, is logged, and says nothing of the inside', async (_what, thrown) => {
  await using app = await failing(thrown);
  const reply = await client(app.url)('GET', '/plants');
  expectError(reply, 500, 13);
  expect(JSON.stringify(reply)).not.toMatch(/secret|E11000/);
  expect(await app.logged('error')).toMatchObject({ requestId: reply.headers['x-request-id'] });
});

describe('of a failure that goes on', () => {
  async function linesOf(thrown: Error, level: string): Promise<{ message: string; stack?: string }[]> {
    await using app = await failing(thrown);
    for (let request = 0; request < 3; request++) await client(app.url)('GET', '/plants');
    return app.logs.filter((line) => line.level === level).map(({ err }) => err as { message: string });
  }

  test('each request with an internal error has a line, and the first has the stack', async () => {
    const cause = new Error('connection 12 to 10.0.0.1 closed');
    const lines = await linesOf(cause, 'error');
    expect(lines).toMatchObject(Array(3).fill({ type: 'Error', message: cause.message }));
    expect(lines.map(({ stack }) => stack !== undefined)).toEqual([true, false, false]);
  });

  test('the first request that the store fails has a line', async () => {
    const cause = new Error('connection 12 to 10.0.0.2 closed');
    const lines = await linesOf(new PlantStoreError('STORE_UNAVAILABLE', 'try again', {}, { cause }), 'warn');
    expect(lines).toMatchObject([{ type: 'Error', message: cause.message, stack: expect.any(String) }]);
  });
});

test('a client that leaves before the first byte of a long list is no internal error', async () => {
  const { promise: left, resolve } = Promise.withResolvers<void>();
  await using app = await HttpApp.rest({
    listPlants: async (_request, { signal }) => {
      request.destroy();
      while (!signal.aborted) await setImmediate();
      resolve();
      const rows = async function* () {
        yield [{ id: 1n, name: 'Fern', tag: undefined }];
      };
      return { plants: rows(), nextCursor: '' };
    },
  });
  const request = get(`${app.url}/plants`, { agent: false }).on('error', () => {});
  await left;
  for (let turn = 0; turn < 50; turn++) await setImmediate();
  expect(app.logs).toEqual([]);
});

describe('the signal of a call', () => {
  test('is aborted when the client goes away', async () => {
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    await using app = await HttpApp.rest({
      listPlants: async (_request, { signal }) => {
        expect(signal.aborted).toBe(false);
        request.destroy();
        while (!signal.aborted) await setImmediate();
        resolve();
        throw new PlantStoreError('CANCELLED', 'the client went away');
      },
    });
    const request = get(`${app.url}/plants`, { agent: false }).on('error', () => {});
    await aborted;
  });

  test('is not aborted when it was answered', async () => {
    const calls: Call[] = [];
    await using app = await HttpApp.rest({
      listPlants: async (_request, call) => {
        expect(call.signal.aborted).toBe(false);
        calls.push(call);
        return { plants: [], nextCursor: '' };
      },
    });
    for (let request = 0; request < 3; request++) {
      expect((await client(app.url)('GET', '/plants')).text).toBe('[]');
      await setImmediate();
    }
    expect(calls.map(({ signal }) => signal.aborted)).toEqual([false, false, false]);
  });
});
