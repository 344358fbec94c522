import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { enterInTurn, lastAlone } from '../../src/transport/http/pipelining.ts';

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const WRITE = REQUEST.replace('GET', 'POST');

/** A server that collects what it has to answer and what it has to refuse, and a connection to it. */
async function open() {
  const answers: ServerResponse[] = [];
  const refused: ServerResponse[] = [];
  const gate = {
    enter: (response: ServerResponse) => void answers.push(response),
    refuse: (response: ServerResponse) => void refused.push(response),
  };
  let requests = 0;
  const server = createServer((_request, response) => {
    requests++;
    enterInTurn(gate, response, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {}).resume();
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  /** Sends requests in one piece, and waits until the server has read them. */
  const write = async (...texts: readonly string[]) => {
    const all = requests + texts.length;
    socket.write(texts.join(''));
    while (requests < all) await sleep(1);
  };
  const send = async (count: number) => {
    const all = answers.length + count;
    await write(...Array(count).fill(REQUEST));
    expect(answers).toHaveLength(all);
  };
  /** Answers what may be served, once there is something, and returns the methods. */
  const answer = async () => {
    while (answers.length === 0) await sleep(1);
    const served = answers.splice(0);
    for (const response of served) response.end();
    return served.map(({ req }) => req.method);
  };
  const lasts = (index: number) => lastAlone(answers[index]!, answers[index]!.req.socket);
  return {
    answers,
    refused,
    socket,
    closed,
    write,
    send,
    answer,
    lasts,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

test('a connection whose answer lasts ends when another request comes', async () => {
  await using server = await open();
  await server.send(1);
  server.lasts(0);
  server.socket.write(REQUEST);
  await server.closed;
  expect(server.answers).toHaveLength(1);
});

test.each([0, 1])(
  'a connection ends when an answer is to last that others wait behind, %i in front of it',
  async (index) => {
    await using server = await open();
    await server.send(3);
    server.lasts(index);
    await server.closed;
  },
);

test('the last of several answers may last, and when it is over others may follow', async () => {
  await using server = await open();
  await server.send(2);
  server.lasts(1);
  server.answers[0]!.end();
  server.answers[1]!.end();
  await once(server.answers[1]!, 'close');
  await server.send(2);
  expect(server.answers).toHaveLength(4);
  server.socket.destroy();
});

test('safe requests are served side by side; every other one waits for all before it, and holds up those behind', async () => {
  await using server = await open();
  await server.write(REQUEST, REQUEST, WRITE, REQUEST, REQUEST, WRITE, WRITE);
  const served = [];
  while (served.flat().length < 7) served.push(await server.answer());
  expect(served).toEqual([['GET', 'GET'], ['POST'], ['GET'], ['GET'], ['POST'], ['POST']]);
  await server.write(REQUEST, REQUEST);
  expect(await server.answer()).toEqual(['GET', 'GET']);
  server.socket.destroy();
});

test('a safe request behind one that is not waits for it', async () => {
  await using server = await open();
  await server.write(WRITE, REQUEST);
  expect(await server.answer()).toEqual(['POST']);
  expect(await server.answer()).toEqual(['GET']);
  server.socket.destroy();
});

test('a request that waits is never served if an answer before it ends the connection', async () => {
  await using server = await open();
  await server.write(WRITE, WRITE);
  server.answers[0]!.setHeader('connection', 'close');
  await server.answer();
  await server.closed;
  expect(server.answers).toEqual([]);
});

test('a request that waits is never served if its client has left', async () => {
  await using server = await open();
  await server.write(WRITE, WRITE);
  const left = once(server.answers[0]!, 'close');
  server.socket.destroy();
  await left;
  await server.answer();
  expect(server.answers).toEqual([]);
});

test('few requests of a connection may wait', async () => {
  await using server = await open();
  await server.write(...Array(100).fill(WRITE));
  expect({ served: server.answers.length, refused: server.refused.length }).toEqual({ served: 1, refused: 35 });
  for (const response of server.refused) response.end();
  for (let turn = 0; turn < 65; turn++) expect(await server.answer()).toEqual(['POST']);
  await server.write(WRITE);
  expect(await server.answer()).toEqual(['POST']);
  server.socket.destroy();
});

test('a connection ends when an answer is to last that a waiting request stands behind', async () => {
  await using server = await open();
  await server.write(REQUEST, WRITE);
  server.lasts(0);
  await server.closed;
});
