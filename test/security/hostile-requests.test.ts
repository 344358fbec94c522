import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { client, exchange, expectError, type Send } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { type Service, startService } from '../support/service.ts';

const uri = inject('mongodbUri')?.replace('/?', `/plantstore-${randomUUID()}?`);
const STORES = { SQLite: {}, ...(uri !== undefined && { MongoDB: { MONGODB_URI: uri } }) };

describe.each(Object.entries(STORES))('on %s', (_store, environment) => {
  let service: LocalService;
  let token: string;
  let alice: Send;
  beforeAll(async () => {
    service = await startLocalService(environment);
    token = await service.token('alice');
    alice = client(service.url, token);
    expect((await alice('POST', '/plants', { body: '{"id":7,"name":"Fern"}' })).status).toBe(200);
  });
  // Nobody got anything of alice's, took it away, or brought the service down.
  afterAll(async () => {
    expect(JSON.parse((await alice('GET', '/plants')).text)).toContainEqual({ name: 'Fern' });
    await service.stop();
  });

  const OPERATORS = ['{"$gt":""}', '{"$ne":null}', '["a"]', '{"$where":"sleep(9999)"}', 'true', 'null'];
  test.each(OPERATORS)('an operator of a database in the place of each value: %s', async (value) => {
    for (const body of [`{"id":${value},"name":"x"}`, `{"id":1,"name":${value}}`, `{"id":1,"name":"x","tag":${value}}`])
      expectError(await alice('POST', '/plants', { body }), 400, 3);
    expectError(await alice('DELETE', `/plants/${encodeURIComponent(value)}`), 400, 3);
    for (const query of [`limit=${encodeURIComponent(value)}`, `cursor=${encodeURIComponent(value)}`])
      expectError(await alice('GET', `/plants?${query}`), 400, 3);
  });

  test('an operator as text, and as an owner, is text', async () => {
    for (const [id, name] of ['{"$gt":""}', '$gt', "' OR 1=1 --", '"; DROP TABLE events; --', '$where'].entries()) {
      const owner = client(service.url, await service.token(name));
      expect(JSON.parse((await owner('GET', '/plants')).text)).toEqual([]);
      const body = JSON.stringify({ id, name, tag: name });
      expect((await owner('POST', '/plants', { body })).status).toBe(200);
      expect(JSON.parse((await owner('GET', '/plants')).text)).toEqual([{ name, tag: name }]);
    }
  });

  test('members and parameters with the names of prototypes are unknown ones', async () => {
    const eve = client(service.url, await service.token('eve'));
    const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '__defineGetter__'];
    for (const [id, name] of names.entries()) {
      const body = `{"${name}":{"tag":"polluted","id":9},"id":${id},"name":"x"}`;
      const reply = await eve('POST', `/plants?${name}=1`, { body });
      expect([reply.status, reply.text]).toEqual([200, '{"name":"x"}']);
      expectError(await eve('POST', '/plants', { body: `{"${name}":{"id":99,"name":"x"}}` }), 400, 3);
      expect((await eve('GET', `/plants?limit=1&${name}[tag]=polluted`)).text).toBe('[{"name":"x"}]');
    }
  });

  test.each([
    '..%2f..%2fetc%2fpasswd',
    '..',
    '%2e%2e',
    '%00',
    '7%00',
    '7%2f..',
    '....//7',
    '7;a=b',
    '%252e',
    '٧',
    '7.0',
    ' 7',
    '+7',
  ])('an id that is a path, or nearly a number: %s', async (id) => {
    const reply = await alice('DELETE', `/plants/${encodeURI(decodeURI(id))}`);
    expect([400, 404, 405]).toContain(reply.status);
    expectError(reply, reply.status, { 400: 3, 404: 5, 405: 12 }[reply.status]!);
  });
});

describe('sizes', () => {
  let service: Service;
  let token: string;
  beforeAll(async () => {
    service = await startService({ NODE_OPTIONS: '--max-old-space-size=96' });
    token = await service.token('alice');
  });
  afterAll(async () => expect(await service.stop()).toBe(0));

  test('JSON as deep as a body can be', async () => {
    const alice = client(service.url, token);
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const depth = Math.floor(65_000 / (open.length + close.length));
      const deep = open.repeat(depth) + (open === '[' ? '' : '1') + close.repeat(depth);
      for (const body of [deep, `{"id":1,"name":${deep}}`]) {
        const reply = await alice('POST', '/plants', { body });
        expectError(reply, 400, 3);
      }
    }
  });

  test('50,000 headers', async () => {
    const headers = Array.from({ length: 50_000 }, (_, index) => `x-${index}: y\r\n`).join('');
    const answer = await exchange(service.url, `GET /plants HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('{"error":3,');
  });

  test('a gzip bomb is not even opened', async () => {
    const bomb = Buffer.alloc(100_000, 0x1f);
    const alice = client(service.url, token);
    expectError(await alice('POST', '/plants', { body: bomb, headers: { 'content-encoding': 'gzip' } }), 415, 3);
  });

  test('two requests in one, told apart in two ways (smuggling), are none', async () => {
    const both = 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n';
    const twice = 'Content-Length: 5\r\nContent-Length: 6\r\n';
    const folded = 'Transfer-Encoding: chunked\r\n x: y\r\n';
    for (const framing of [both, twice, folded, 'Transfer-Encoding: xchunked\r\n', 'Content-Length: +5\r\n']) {
      const head = `POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
      const answer = await exchange(
        service.url,
        `${head}${framing}\r\n0\r\n\r\nGET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n`,
      );
      expect(answer, framing).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    }
  });

  /** The bytes of a request with alice's token. */
  const bytesOf = (line: string, body = '') =>
    `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`;

  test('writes that are sent without awaiting an answer are done in order', async () => {
    for (let round = 0; round < 10; round++) {
      const answer = await exchange(
        service.url,
        bytesOf('POST /plants', '{"id":7,"name":"x"}') +
          bytesOf('DELETE /plants/7') +
          bytesOf('GET /plants').replace('Host', 'Connection: close\r\nHost'),
      );
      expect(Array.from(answer.matchAll(/HTTP\/1\.1 (\d+) /g), ([, status]) => status)).toEqual(['200', '204', '200']);
      expect(answer).toMatch(/\[\]$/);
    }
  });

  test.each([
    ['gzip', ['gzip, chunked']],
    ['identity', ['identity, chunked']],
    ['chunks in chunks', ['chunked, chunked']],
    ['two headers', ['gzip', 'chunked']],
    ['an empty coding', [', chunked']],
    ['a parameter', ['chunked;a=b, chunked']],
    ['HTTP/1.0, which has no codings', ['chunked'], 'HTTP/1.0'],
  ])('a body in chunks and in more than chunks is none: %s', async (_, codings, version = 'HTTP/1.1') => {
    const body = '{"id":1,"name":"x"}';
    const fields = codings.map((coding) => `Transfer-Encoding: ${coding}\r\n`).join('');
    const answer = await exchange(
      service.url,
      `POST /plants ${version}\r\nHost: x\r\nConnection: keep-alive\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: application/json\r\n${fields}\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` +
        bytesOf('POST /plants', body),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect((await client(service.url, token)('GET', '/plants')).text).toBe('[]');
  });

  test('chunked has no case', async () => {
    const headers = { 'transfer-encoding': 'CHUNKED', 'content-length': undefined };
    const bob = client(service.url, await service.token('bob'));
    expect((await bob('POST', '/plants', { body: '{"id":1,"name":"x"}', headers })).status).toBe(200);
  });

  test('a client that goes away in the middle of its body leaves nothing behind', async () => {
    const { hostname, port } = new URL(service.url);
    for (let round = 0; round < 100; round++) {
      const socket = connect(Number(port), hostname);
      socket.write(
        `POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\n{"id":1`,
      );
      await once(socket, 'connect');
      socket.destroy();
    }
    const alice = client(service.url, token);
    expect((await alice('GET', '/plants')).text).toBe('[]');
  });
});
