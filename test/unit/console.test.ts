import fc from 'fast-check';
import { expect, test } from 'vitest';
import { claimsOf, faultOf, tokenIn } from '../../console/src/claims.ts';
import { type Report, rateOf } from '../../console/src/instance/report.ts';
import { idOf, positionOf } from '../../console/src/numbers.ts';
import { PlantList } from '../../console/src/plants/plant-list.ts';
import { differenceOf } from '../../console/src/time/difference.ts';
import { isolated } from '../../console/src/ui/isolated.ts';

const added = (id: bigint, name: string) => ({ type: 'added', plant: { id, name } }) as const;
const namesOf = (list: PlantList) => Array.from({ length: list.size }, (_, index) => list.at(index).name);

test('a list of plants is the fold of its events, in ascending id, each id exact', () => {
  const ids = fc.bigInt({ min: 9_007_199_254_740_990n, max: 9_007_199_254_741_000n });
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), ids, fc.string())), (steps) => {
      const list = new PlantList();
      const model = new Map<bigint, string>();
      for (const [isAdded, id, name] of steps) {
        list.take(isAdded ? added(id, name) : { type: 'deleted', id, position: 1n });
        if (isAdded) model.set(id, name);
        else model.delete(id);
      }
      const sorted = [...model].toSorted(([one], [other]) => (one < other ? -1 : 1));
      expect(namesOf(list)).toEqual(sorted.map(([, name]) => name));
    }),
  );
});

test('a plant is found by the beginning of its id, and by what is in its name or tag', () => {
  const list = new PlantList();
  for (const [id, name] of [
    [7n, 'Fern'],
    [70n, 'Oak'],
    [17n, 'Maidenhair FERN'],
  ] as const)
    list.take(added(id, name));
  expect(list.find('7').map(({ id }) => id)).toEqual([7n, 70n]);
  expect(list.find('fern').map(({ id }) => id)).toEqual([7n, 17n]);
});

test.each([
  ['7', 7n],
  [' -9223372036854775808 ', -9223372036854775808n],
  ['9223372036854775808', undefined],
  ['7.5', undefined],
  ['', undefined],
])('the id of %j is %s', (text, id) => expect(idOf(text)).toBe(id));

test.each([
  ['1', 1n],
  ['0', undefined],
  ['-1', undefined],
  ['x', undefined],
])('the position of %j is %s', (text, position) => expect(positionOf(text)).toBe(position));

test.each([
  ['Fern, Zoë', 'Fern, Zoë'],
  ['שיבולת', '\u2068שיבולת\u2069'],
  ['\u202eevil', '\u2068evil\u2069'],
  ['\u2069\u202eevil', '\u2068evil\u2069'],
])('in a sentence, %j changes the direction of nothing around it', (text, shown) => expect(isolated(text)).toBe(shown));

test('claims are read from a token in any letters, and from nothing else', () => {
  const tokenOf = (payload: object) => `e30.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.c2lnbmF0dXJl`;
  expect(claimsOf(tokenOf({ sub: 'Zoë', scope: 'plants:read  plants:write', exp: 5 }))).toMatchObject({
    subject: 'Zoë',
    scopes: new Set(['plants:read', 'plants:write']),
    expires: 5_000,
  });
  expect(claimsOf(tokenOf({ scp: ['plants:audit', 7] }))?.scopes).toEqual(new Set(['plants:audit']));
  for (const none of ['', 'a.b', 'a.b.c', 'a.!.c']) expect(claimsOf(none)).toBeUndefined();
});

test('a token is found in what was copied around it, and a damaged one is none', () => {
  const token = `e30.${Buffer.from('{"sub":"alice"}').toString('base64url')}.c2lnbmF0dXJl`;
  for (const copied of [`"${token}"`, `'${token}'\n`, `TOKEN=${token}`, ` TOKEN="${token}"`, `Bearer  ${token}`])
    expect(tokenIn(copied)).toBe(token);
  expect(faultOf(token)).toBeUndefined();
  for (const character of [' ', '\n', '"', '=', '%', '\u200b']) {
    const damaged = `${token.slice(0, -3)}${character}${token.slice(-3)}`;
    expect(faultOf(tokenIn(damaged))).toContain('it has a character that no token has');
    expect(claimsOf(damaged)).toBeUndefined();
  }
  expect(faultOf('a.b')).toContain('three parts');
});

test('what was replaced between two moments is removed and added', () => {
  const plant = (id: bigint, name: string) => ({ owner: 'alice', id, name, tag: undefined });
  const [fern, oak, moss, ivy] = [plant(1n, 'Fern'), plant(2n, 'Oak'), plant(2n, 'Moss'), plant(3n, 'Ivy')] as const;
  expect(differenceOf([fern, oak], [fern, moss, ivy])).toEqual({ removed: [oak], added: [moss, ivy] });
});

test('rates are of one process: a report of the one before counts for none', () => {
  const report = (time: number, ended: number) => ({ time, metrics: { ended } }) as unknown as Report;
  const rate = (next: Report, before?: Report) => rateOf(next, before, 'ended');
  expect(rate(report(4_000, 30), report(2_000, 10))).toBe(10);
  expect(rate(report(100, 0), report(4_000, 30))).toBeUndefined();
  expect(rate(report(100, 0))).toBeUndefined();
});
