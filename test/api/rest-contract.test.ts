import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { client, expectError, type Send } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { named } from '../support/named.ts';

let service: LocalService;

beforeAll(async () => {
  service = await startLocalService();
});

afterAll(() => service.stop());

/** A client whose owner has no plants yet. */
const newOwner = async (): Promise<Send> => client(service.url, await service.token(randomUUID()));

const MIN = '-9223372036854775808';
const MAX = '9223372036854775807';
const LONGEST = '\u{1F335}'.repeat(1024);

describe('POST /plants', () => {
  test.each(
    named([
      ['{"id":7,"name":"Fern","tag":"indoor"}', '{"name":"Fern","tag":"indoor"}'],
      ['{"id":7,"name":"Fern"}', '{"name":"Fern"}'],
      ['{"id":7,"name":"","tag":""}', '{"name":"","tag":""}'],
      [` {\r\n\t"tag" : "a" , "name" : "b" , "id" : 7 }\n`, '{"name":"b","tag":"a"}'],
      ['{"id":7,"name":"Fern","extra":{"id":"x","name":null},"more":[1e400,7.5]}', '{"name":"Fern"}'],
      ['{"id":7,"name":"Fern","__proto__":{"tag":"no"},"constructor":1}', '{"name":"Fern"}'],
      ['{"\\u0069d":7,"n\\u0061me":"\\ud83c\\udf35\\n\\u0000"}', '{"name":"\u{1F335}\\n\\u0000"}'],
      [`{"id":7,"name":"Fern","deep":${'['.repeat(900)}${']'.repeat(900)}}`, '{"name":"Fern"}'],
      [
        `{"id":7,"name":${JSON.stringify(LONGEST)},"tag":${JSON.stringify(LONGEST)}}`,
        JSON.stringify({ name: LONGEST, tag: LONGEST }),
      ],
    ]),
  )('%s is 200', async (_name, body, plant) => {
    const send = await newOwner();
    const added = await send('POST', '/plants', { body });
    expect({ ...added, headers: undefined }).toEqual({ status: 200, text: plant });
    expect(added.headers['content-type']).toMatch(/^application\/json/);
    expect(added.headers['plantstore-position']).toMatch(/^[1-9]\d*$/);
    const listed = await send('GET', '/plants');
    expect(listed.text).toBe(`[${plant}]`);
    expect((await send('DELETE', '/plants/7')).status).toBe(204);
  });

  test.each([
    ['0', '0'],
    ['-1', '-1'],
    ['9007199254740993', '9007199254740993'],
    ['-9007199254740993', '-9007199254740993'],
    [MIN, MIN],
    [MAX, MAX],
    ['-0', '0'],
    ['7.0', '7'],
    ['70e-1', '7'],
    ['0.7E+1', '7'],
    ['9007199254740993.000', '9007199254740993'],
    ['922337203685477580.7e1', MAX],
    ['0e99999', '0'],
  ])('"id":%s is that int64, exactly', async (number, id) => {
    const send = await newOwner();
    const near = [BigInt(id) - 1n, BigInt(id) + 1n]
      .map(String)
      .filter((other) => other !== '-9223372036854775809' && other !== '9223372036854775808');
    for (const other of near)
      expect((await send('POST', '/plants', { body: `{"id":${other},"name":"near"}` })).status).toBe(200);
    expect((await send('POST', '/plants', { body: `{"id":${number},"name":"here"}` })).status).toBe(200);
    const again = await send('POST', '/plants', { body: `{"id":${id},"name":"again"}` });
    expect(expectError(again, 400, 6)).toContain(id);
    expect((await send('DELETE', `/plants/${id}`)).status).toBe(204);
    const left = JSON.parse((await send('GET', '/plants')).text);
    expect(left).toEqual(near.map(() => ({ name: 'near' })));
  });

  const WRONG = ['null', 'true', '[]', '{}', '[7]', '{"value":7}'];
  const WRONG_ID = [
    ...WRONG,
    '"7"',
    '""',
    '7.5',
    '1e400',
    '-1e400',
    '1e-400',
    '7.0000000000000000000000001',
    '9223372036854775808',
    '-9223372036854775809',
    '9223372036854775807.5',
    '1e19',
    '1e999999999999',
    '18446744073709551616',
  ];
  const WRONG_TEXT = [
    ...WRONG,
    '7',
    '"\\ud800"',
    '"\\udc00"',
    '"a\\udf35\\ud83c"',
    `"${'a'.repeat(1025)}"`,
    JSON.stringify(`${LONGEST}a`),
  ];

  test.each(
    named(
      [
        ...WRONG_ID.map((value) => ['id', `{"id":${value},"name":"Fern"}`]),
        ...WRONG_TEXT.map((value) => ['name', `{"id":7,"name":${value}}`]),
        ...WRONG_TEXT.map((value) => ['tag', `{"id":7,"name":"Fern","tag":${value}}`]),
        ['id', '{"name":"Fern"}'],
        ['id', '{}'],
        ['id', '{"ID":7,"Id":7,"name":"Fern"}'],
        ['name', '{"id":7}'],
        ['name', '{"id":7,"tag":"indoor"}'],
        ['name', '{"id":7,"__proto__":{"name":"Fern"}}'],
        ['name', '{"id":7,"plant":{"id":7,"name":"Fern"}}'],
      ],
      1,
    ),
  )('%s: a wrong %s is 400', async (_name, field, body) => {
    const send = await newOwner();
    expect(expectError(await send('POST', '/plants', { body }), 400, 3)).toMatch(new RegExp(`^${field} `));
    expect((await send('GET', '/plants')).text).toBe('[]');
  });

  const text = '{"id":7,"name":"Fern"}';

  test.each<[string, string | Buffer | undefined]>([
    ['no body', undefined],
    ['over a thousand values', `{"id":7,"name":"Fern","more":[${'[],'.repeat(1_000)}0]}`],
    ['an empty body', ''],
    ['spaces', '  '],
    ['null', 'null'],
    ['a number', '7'],
    ['a string', '"Fern"'],
    ['an array', `[${text}]`],
    ['nested arrays', '['.repeat(30_000) + ']'.repeat(30_000)],
    ['half an object', text.slice(0, -1)],
    ['two objects', text + text],
    ['a comma at the end', '{"id":7,"name":"Fern",}'],
    ['single quotes', "{'id':7,'name':'Fern'}"],
    ['NaN', '{"id":NaN,"name":"Fern"}'],
    ['leading zeros', '{"id":007,"name":"Fern"}'],
    ['a plus sign', '{"id":+7,"name":"Fern"}'],
    ['a comment', `${text}//`],
    ['a member twice', '{"id":7,"id":7,"name":"Fern"}'],
    ['a member twice, once escaped', '{"id":7,"name":"Fern","n\\u0061me":"Oak"}'],
    ['an unknown member twice', '{"id":7,"name":"Fern","x":{"y":1,"y":2}}'],
    ['a raw control character', '{"id":7,"name":"a\nb"}'],
    ['a byte order mark', `\ufeff${text}`],
    ['UTF-16', Buffer.from(text, 'utf16le')],
    ['Latin-1', Buffer.from('{"id":7,"name":"é"}', 'latin1')],
    [
      'an overlong encoding',
      Buffer.concat([Buffer.from('{"id":7,"name":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
    ],
    [
      'a surrogate in UTF-8',
      Buffer.concat([Buffer.from('{"id":7,"name":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ],
    [
      'half a character',
      Buffer.concat([Buffer.from('{"id":7,"name":"'), Buffer.from([0xf0, 0x9f]), Buffer.from('"}')]),
    ],
  ])('%s is 400', async (_what, body) => {
    const send = await newOwner();
    expectError(await send('POST', '/plants', body === undefined ? {} : { body }), 400, 3);
    expect((await send('GET', '/plants')).text).toBe('[]');
  });

  test('an id that exists is 400 with error 6, and changes nothing', async () => {
    const send = await newOwner();
    expect((await send('POST', '/plants', { body: text })).status).toBe(200);
    expectError(await send('POST', '/plants', { body: '{"id":7,"name":"Moss"}' }), 400, 6);
    expect((await send('GET', '/plants')).text).toBe('[{"name":"Fern"}]');
  });
});

test('owners never see, change or block each other', async () => {
  const [alice, bob] = [await newOwner(), await newOwner()];
  await alice('POST', '/plants', { body: '{"id":7,"name":"of Alice"}' });
  expect((await bob('GET', '/plants')).text).toBe('[]');
  expectError(await bob('DELETE', '/plants/7'), 404, 5);
  expect((await bob('POST', '/plants', { body: '{"id":7,"name":"of Bob"}' })).status).toBe(200);
  expect((await alice('GET', '/plants')).text).toBe('[{"name":"of Alice"}]');
  expect((await alice('DELETE', '/plants/7')).status).toBe(204);
  expect((await bob('GET', '/plants')).text).toBe('[{"name":"of Bob"}]');
});
