import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { lastAlone, mayFollow } from '../../src/transport/http/pipelining.ts';

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

/** A server that collects what it has to answer, and a connection to it. */
async function open() {
  const answers: ServerResponse[] = [];
  const server = createServer((request, response) => {
    if (mayFollow(response, request.socket)) answers.push(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {}).resume();
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  const send = async (requests: number) => {
    const before = answers.length;
    socket.write(REQUEST.repeat(requests));
    while (answers.length < before + requests) await sleep(1);
  };
  const lasts = (index: number) => lastAlone(answers[index]!, answers[index]!.req.socket);
  return { answers, socket, closed, send, lasts, [Symbol.asyncDispose]: async () => void server.close() };
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
