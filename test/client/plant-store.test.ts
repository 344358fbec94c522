import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Change,
  IdempotencyKeyReusedError,
  InvalidRequestError,
  PlantAlreadyExistsError,
  PlantNotFoundError,
  PlantStore,
  UnauthenticatedError,
} from '../../client/index.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';

let service: LocalService;
beforeAll(async () => {
  service = await startLocalService();
});
afterAll(() => service.stop());

const newStore = async (owner: string = randomUUID()) =>
  new PlantStore({ url: `${service.url}/`, token: await service.token(owner) });

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const IDS = [-(2n ** 63n), -1n, 0n, 9007199254740993n, 2n ** 63n - 1n];

describe('a client', () => {
  test('adds, gets, lists and deletes plants of any id, exactly', async () => {
    const store = await newStore();
    const plants = IDS.map((id) => ({ id, name: `Plant "${id}" \u{1F33F}`, tag: '' }));
    const added = [];
    for (const plant of plants) added.push(await store.add(plant));
    expect(added.every(({ replayed }) => !replayed)).toBe(true);
    const positions = added.map(({ position }) => position);
    expect(positions).toEqual([...positions].sort((a, b) => Number(a - b)));
    expect(await store.get(IDS[3]!)).toEqual(plants[3]);
    expect(await all(store.list())).toEqual(plants);
    expect(await all(store.list({ pageSize: 2 }))).toEqual(plants);
    const { position } = await store.delete(IDS[3]!);
    expect(position).toBeGreaterThan(positions.at(-1)!);
    expect(await all(store.list())).toEqual(plants.toSpliced(3, 1));
  });

  test.each([2 ** 53, 1.5, Number.NaN])(
    'refuses the number %s, which may have lost digits, and sends nothing',
    async (id) => {
      const store = new PlantStore({ url: service.url, token: 'none', fetch: () => expect.unreachable() });
      await expect(store.add({ id, name: 'Fern' })).rejects.toThrow(RangeError);
      await expect(store.delete(id)).rejects.toThrow(RangeError);
      await expect(store.get(id)).rejects.toThrow(RangeError);
    },
  );

  test('says of what is no id what it is, or that it is missing, and sends nothing', async () => {
    const store = new PlantStore({ url: service.url, token: 'none', fetch: () => expect.unreachable() });
    for (const [id, message] of [
      ['7', 'id must be a bigint or an integer, and is the string "7"; pass BigInt("7")'],
      ['seven', 'id must be a bigint or an integer, and is the string "seven"'],
      [null, 'id must be a bigint or an integer, and is null'],
      [undefined, 'id is missing'],
    ] as const)
      for (const call of [
        () => store.add({ id: id as never, name: 'Fern' }),
        () => store.delete(id as never),
        () => store.get(id as never),
      ])
        await expect(call()).rejects.toThrow(new TypeError(message));
    expect(() => store.watch({ after: '7' as never })).toThrow('after must be a bigint or an integer');
    await expect((store.add as () => Promise<unknown>).call(store)).rejects.toThrow(new TypeError('plant is missing'));
    const Untyped = PlantStore as unknown as new () => PlantStore;
    expect(() => new Untyped()).toThrow(new TypeError('the options are missing: url and token'));
  });

  test.each([{ id: 100n }, { id: 100n, tag: '0' }])(
    'learns from the service that a name is missing: %o',
    async (plant) => {
      const store = await newStore();
      const failure = await store.add(plant as never).catch((error) => error);
      expect(failure).toBeInstanceOf(InvalidRequestError);
      expect(failure).toMatchObject({ reason: 'INVALID_FIELD', message: 'name is missing' });
    },
  );

  test('refuses at once what no request can hold', async () => {
    const options = { url: service.url, token: 'none', fetch: () => expect.unreachable() };
    const store = new PlantStore(options);
    for (const idempotencyKey of ['', 'é', 'x'.repeat(256), 'a\nb'])
      await expect(store.add({ id: 1, name: '' }, { idempotencyKey })).rejects.toThrow(RangeError);
    for (const url of ['localhost', 'localhost:8080', 'ftp://localhost', 'http://localhost?a', 'http://localhost/#'])
      expect(() => new PlantStore({ ...options, url })).toThrow(TypeError);
    for (const pageSize of [0, -1, Number.NaN]) await expect(all(store.list({ pageSize }))).rejects.toThrow(RangeError);
  });

  test.each([
    ['', 'the token is empty'],
    ['Bearer x.y.z', 'the token begins with "Bearer "; pass the token alone, the client adds it'],
    ['secret\nsecret', 'the token has characters that no header can hold'],
    ['sécret', 'the token has characters that no header can hold'],
  ])('refuses the token %o in words, also from a function', async (token, message) => {
    const options = { url: service.url, fetch: () => expect.unreachable() };
    expect(() => new PlantStore({ ...options, token })).toThrow(new TypeError(message));
    const store = new PlantStore({ ...options, token: () => token });
    await expect(store.get(7)).rejects.toThrow(new TypeError(message));
    await expect(all(store.watch())).rejects.toThrow(new TypeError(message));
  });

  test.each([0, -1, 1.5, Number.POSITIVE_INFINITY, 2 ** 31, '5' as never])('refuses a timeout of %s', (timeout) => {
    const message = `timeout must be an integer from 1 to 2147483647, in milliseconds, and is ${timeout}`;
    expect(() => new PlantStore({ url: service.url, token: 'x', timeout })).toThrow(new RangeError(message));
  });

  test('does a write once for each idempotency key', async () => {
    const store = await newStore();
    const idempotencyKey = 'a "key" \\ of mine';
    const first = await store.add({ id: 7, name: 'Fern' }, { idempotencyKey });
    expect(await store.add({ id: 7, name: 'Fern' }, { idempotencyKey })).toEqual({ ...first, replayed: true });
    await expect(store.add({ id: 8, name: 'Oak' }, { idempotencyKey })).rejects.toThrow(IdempotencyKeyReusedError);
  });

  test('throws an error of its own class for each reason', async () => {
    const store = await newStore();
    await store.add({ id: 7, name: 'Fern' });
    await expect(store.add({ id: 7, name: 'Fern' })).rejects.toThrow(PlantAlreadyExistsError);
    await expect(store.delete(8)).rejects.toThrow(PlantNotFoundError);
    await expect(store.get(8)).rejects.toMatchObject({
      name: 'PlantNotFoundError',
      reason: 'PLANT_NOT_FOUND',
      status: 404,
      message: 'there is no plant with id 8',
      requestId: expect.stringMatching(/./),
    });
    await expect(store.add({ id: 2n ** 63n, name: 'Fern' })).rejects.toThrow(InvalidRequestError);
    const stranger = new PlantStore({ url: service.url, token: 'none' });
    await expect(stranger.get(7)).rejects.toThrow(UnauthenticatedError);
    await expect(all(stranger.watch())).rejects.toThrow(UnauthenticatedError);
  });

  test('asks for another token when one is refused, and gives up when it gets the same', async () => {
    const tokens = ['old', await service.token('renewed')];
    let asked = 0;
    const renewing = new PlantStore({ url: service.url, token: async () => tokens[Math.min(asked++, 1)]! });
    expect(await all(renewing.list())).toEqual([]);
    expect(asked).toBe(2);
    const stuck = new PlantStore({ url: service.url, token: () => 'old' });
    await expect(stuck.get(1)).rejects.toThrow(UnauthenticatedError);
  });

  test('takes no other refusal to the token: it asks for none, and does not send the request again', async () => {
    const token = await service.token(randomUUID());
    let [asked, sent] = [0, 0];
    const store = new PlantStore({
      url: service.url,
      // Another one each time, as from an issuer that is asked anew.
      token: () => (asked++ === 0 ? token : 'another'),
      fetch: (...request) => {
        sent++;
        return fetch(...request);
      },
    });
    await expect(store.get(7)).rejects.toThrow(PlantNotFoundError);
    expect([asked, sent]).toEqual([1, 1]);
  });
});

describe('a watch', () => {
  test('tells the state and every change, until the signal aborts', async () => {
    const store = await newStore();
    await store.add({ id: IDS[3]!, name: 'Oak', tag: 'old' });
    const stop = new AbortController();
    const changes = store.watch({ signal: stop.signal });
    const next = async () => (await changes.next()).value;
    expect(await next()).toEqual({ type: 'reset' });
    expect(await next()).toEqual({ type: 'added', plant: { id: IDS[3], name: 'Oak', tag: 'old' } });
    expect(await next()).toMatchObject({ type: 'ready' });
    const added = await store.add({ id: 1, name: 'Fern' });
    expect(await next()).toEqual({ type: 'added', plant: { id: 1n, name: 'Fern' }, position: added.position });
    const deleted = await store.delete(IDS[3]!);
    expect(await next()).toEqual({ type: 'deleted', id: IDS[3], position: deleted.position });
    const end = changes.next();
    stop.abort(new Error('enough'));
    await expect(end).rejects.toThrow('enough');
  });

  test.each<[string, (changes: AsyncGenerator<Change, void>) => PromiseLike<unknown>]>([
    ['return()', (changes) => changes.return()],
    ['throw()', (changes) => changes.throw(new Error('enough')).catch(() => {})],
    ['a stream that is cancelled', (changes) => ReadableStream.from(changes).cancel()],
    ['a disposal', (changes) => changes[Symbol.asyncDispose]()],
  ])('that waits ends at once by %s, and so does its stream', async (_, end) => {
    const store = await newStore();
    const untilWatches = async (open: number) => {
      while ((await service.metric('plantstore_watches')) !== open) await new Promise((done) => setTimeout(done, 5));
    };
    const changes = store.watch();
    for (let type = ''; type !== 'ready'; ) type = (await changes.next()).value!.type;
    await untilWatches(1);
    const waiting = changes.next();
    await end(changes);
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await changes.next()).toEqual({ done: true, value: undefined });
    await untilWatches(0);
  });

  test('goes on after a position', async () => {
    const store = await newStore();
    const { position: after } = await store.add({ id: 1, name: 'Fern' });
    const { position } = await store.add({ id: 2, name: 'Oak' });
    const told: Change[] = [];
    for await (const change of store.watch({ after })) {
      told.push(change);
      break;
    }
    expect(told).toEqual([{ type: 'added', plant: { id: 2n, name: 'Oak' }, position }]);
  });
});
