import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_INT64, MIN_INT64 } from '../../src/domain/plant.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { failure, type PlantsClient, PROTOCOLS } from '../support/protocols.ts';

let service: LocalService;
beforeAll(async () => {
  service = await startLocalService({ JWT_REQUIRED_SCOPES: 'plants:read plants:write' });
});
afterAll(() => service.stop());

const BOTH_SCOPES = 'plants:read plants:write';
const owners = function* () {
  for (let number = 1; ; number++) yield `owner ${number}`;
};
const names = owners();
const newOwner = (): string => names.next().value;
const bearer = async (owner: string, scope = BOTH_SCOPES) => `Bearer ${await service.token(owner, scope)}`;

const namesOf = async (plants: PlantsClient) => (await plants.list()).plants.map(({ name }) => name);

describe.each(PROTOCOLS)('$name', ({ name: protocol, client }) => {
  const tells = (field: string) => (protocol === 'REST' ? undefined : field);
  const connect = async (owner = newOwner()) => client(service, await bearer(owner));

  test('a plant is added, listed, deleted, and may be added again', async () => {
    const plants = await connect();
    const first = await plants.create(7n, 'Fern', 'indoor');
    expect(first.plant).toEqual({ name: 'Fern', tag: 'indoor' });
    expect(await plants.list()).toEqual({ plants: [{ name: 'Fern', tag: 'indoor' }], next: '' });
    const deleted = await plants.delete(7n);
    expect(await plants.list()).toEqual({ plants: [], next: '' });
    const again = await plants.create(7n, 'Moss');
    expect(await plants.list()).toEqual({ plants: [{ name: 'Moss' }], next: '' });
    expect(again.position).toBeGreaterThan(first.position + 1n);
    if (protocol !== 'REST') expect(deleted.position).toBeGreaterThan(first.position);
  });

  test('an id that exists is refused, and one that does not is not found', async () => {
    const plants = await connect();
    await plants.create(7n, 'Fern');
    expect(await failure(plants.create(7n, 'Moss'))).toMatchObject({ code: 6, reason: 'PLANT_ALREADY_EXISTS' });
    await plants.delete(7n);
    expect(await failure(plants.delete(7n))).toMatchObject({ code: 5, reason: 'PLANT_NOT_FOUND' });
    expect(await plants.list()).toEqual({ plants: [], next: '' });
  });

  test('ids are exact over all of int64, and order the list', async () => {
    const plants = await connect();
    const ids = [MAX_INT64, 2n ** 53n + 1n, 2n ** 53n, 0n, -1n, -(2n ** 53n) - 1n, MIN_INT64];
    for (const id of ids) await plants.create(id, String(id));
    expect(await namesOf(plants)).toEqual(ids.toReversed().map(String));
    for (const id of ids) {
      await plants.delete(id);
      expect(await namesOf(plants)).not.toContain(String(id));
    }
    expect(await namesOf(plants)).toEqual([]);
  });

  test('an empty tag is not an absent one', async () => {
    const plants = await connect();
    await plants.create(1n, '', '');
    await plants.create(2n, '');
    expect((await plants.list()).plants).toEqual([{ name: '', tag: '' }, { name: '' }]);
  });

  test('text comes back as it was, up to 1,024 code points', async () => {
    const plants = await connect();
    const text = ['a\u0000b', 'é e\u0301 \u202e', '"\\\n\t', '\uFEFFFern', '🌱'.repeat(1024)];
    for (const [index, name] of text.entries()) await plants.create(BigInt(index), name, name);
    expect((await plants.list()).plants).toEqual(text.map((name) => ({ name, tag: name })));
    expect(await failure(plants.create(9n, '🌱'.repeat(1025)))).toMatchObject({
      code: 3,
      reason: 'INVALID_FIELD',
      field: tells('plant.name'),
    });
    expect(await failure(plants.create(9n, '', 'x'.repeat(1025)))).toMatchObject({
      code: 3,
      reason: 'INVALID_FIELD',
      field: tells('plant.tag'),
    });
    expect((await plants.list()).plants).toHaveLength(text.length);
  });

  test('a limit cuts the list, and the cursor goes on', async () => {
    const plants = await connect();
    for (const id of [1n, 2n, 3n]) await plants.create(id, String(id));
    expect(await plants.list(0)).toEqual({ plants: [], next: '' });
    expect(await plants.list(3)).toMatchObject({ plants: [{}, {}, {}], next: '' });
    const { plants: page, next } = await plants.list(2);
    expect(page).toEqual([{ name: '1' }, { name: '2' }]);
    expect(await plants.list(2, next)).toEqual({ plants: [{ name: '3' }], next: '' });
    expect(await failure(plants.list(-1))).toMatchObject({
      code: 3,
      reason: 'INVALID_FIELD',
      field: tells('limit'),
    });
    expect(await failure(plants.list(1, 'AAAA'))).toMatchObject({
      code: 3,
      reason: 'INVALID_CURSOR',
      field: tells('cursor'),
    });
  });

  test('owners see nothing of each other', async () => {
    const [alice, bob] = await Promise.all([connect(), connect()]);
    await alice.create(7n, "Alice's");
    expect(await failure(bob.delete(7n))).toMatchObject({ code: 5 });
    await bob.create(7n, "Bob's");
    expect(await namesOf(alice)).toEqual(["Alice's"]);
    expect(await namesOf(bob)).toEqual(["Bob's"]);
    await bob.delete(7n);
    expect(await namesOf(alice)).toEqual(["Alice's"]);
  });

  test.each([
    ['no token', undefined, 'TOKEN_MISSING'],
    ['another scheme', 'Basic YWxpY2U6', 'TOKEN_MISSING'],
    ['no JWT', 'Bearer fern', 'TOKEN_INVALID'],
    ['two in one', 'Bearer a, Bearer b', 'AUTHORIZATION_MALFORMED'],
  ])('%s is not let in', async (_, authorization, reason) => {
    const plants = client(service, authorization);
    const calls = [plants.create(7n, 'Fern'), plants.list(), plants.delete(7n)].map(failure);
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: 16, reason: reason });
  });

  test('a token is good for its scopes alone', async () => {
    const owner = newOwner();
    const reader = client(service, await bearer(owner, 'plants:read plants:writer'));
    const writer = client(service, await bearer(owner, 'plants:write'));
    const refused = { code: 7, reason: 'INSUFFICIENT_SCOPE' };
    await writer.create(7n, 'Fern');
    expect(await namesOf(reader)).toEqual(['Fern']);
    expect(await failure(writer.list())).toMatchObject(refused);
    expect(await failure(reader.create(8n, 'Moss'))).toMatchObject(refused);
    expect(await failure(reader.delete(7n))).toMatchObject(refused);
    expect(await namesOf(reader)).toEqual(['Fern']);
  });

  test('what is written here is seen at once on every other way in', async () => {
    const authorization = await bearer(newOwner());
    const here = client(service, authorization);
    for (const other of PROTOCOLS) {
      const there = other.client(service, authorization);
      await here.create(7n, `seen over ${other.name}`);
      expect(await namesOf(there)).toEqual([`seen over ${other.name}`]);
      await here.delete(7n);
      expect(await namesOf(there)).toEqual([]);
    }
  });
});
