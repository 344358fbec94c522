import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { createLogger, type Logger } from '../../src/observe/logger.ts';

const JWT = 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhbGljZSIsImV4cCI6MX0.c2lnbmF0dXJl-_';

function capture(): { logger: Logger; lines: () => Record<string, unknown>[]; text: () => string } {
  let text = '';
  const logger = createLogger('debug', {
    write: (line) => {
      text += line;
    },
  });
  const lines = () =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { logger, lines, text: () => text };
}

test('a line is one JSON object with a level by name, an ISO time and the message', () => {
  const { logger, lines } = capture();
  logger.info({ protocol: 'rest' }, 'listening');
  expect(lines()).toEqual([
    { level: 'info', time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/), protocol: 'rest', msg: 'listening' },
  ]);
});

test.each([
  ['a header of a request', { req: { method: 'GET', url: '/', headers: { authorization: `Bearer ${JWT}` } } }],
  ['a query', { req: { method: 'GET', url: '/plants?access_token=opaque-secret&limit=1' } }],
  ['an error', { err: new Error(`bad token ${JWT}`) }],
  ['a property of an error', { err: Object.assign(new Error('no'), { token: JWT }) }],
  ['a part of a longer word', { file: `at trace-${JWT}:7`, path: `/plants.${JWT}` }],
  ['a path, encoded', { url: `/plants?next=%22&access_token=opaque-secret%2Fs.eyJ` }],
  ['any value', { anything: [`Bearer opaque-secret-0123456789==`, { deep: JWT }] }],
])('no token in the log: %s', (_where, object) => {
  const { logger, lines, text } = capture();
  logger.error(object, `failed with ${JWT}`);
  expect(text()).not.toMatch(/opaque-secret|c2lnbmF0dXJl|eyJzdWIi/);
  expect(lines()).toHaveLength(1);
});

test('an error is told with its causes, each once', () => {
  const { logger, lines } = capture();
  const refused = new Error('connect ECONNREFUSED 10.0.0.1:27017');
  const repeated = new Error(refused.message, { cause: new Error(refused.message, { cause: refused }) });
  const circular = new Error('no primary');
  circular.cause = new Error('no quorum', { cause: circular });
  logger.error({ err: repeated }, 'failed');
  logger.error({ err: new Error('no primary: a does not answer (connect)', { cause: repeated }) }, 'failed');
  logger.error({ err: circular }, 'failed');
  expect(lines().map(({ err }) => (err as Error).message)).toEqual([
    refused.message,
    `no primary: a does not answer (connect): ${refused.message}`,
    'no primary: no quorum',
  ]);
});

test('what is no token stays readable', () => {
  const { logger, text } = capture();
  logger.info({ challenge: 'Bearer realm="plantstore", error="invalid_token"', url: '/plants?limit=5' }, 'they asked');
  expect(text()).toContain('Bearer realm=\\"plantstore\\", error=\\"invalid_token\\"');
  expect(text()).toContain('/plants?limit=5');
});

test('as the logger of Fastify it logs a request by its id, without headers or token', async () => {
  const { logger, lines, text } = capture();
  const app = Fastify({ loggerInstance: logger });
  app.get('/plants', (_request, reply) => reply.send([]));
  await app.inject({ url: `/plants?access_token=${JWT}&limit=2`, headers: { authorization: `Bearer ${JWT}` } });
  await app.close();
  const [incoming, completed] = lines();
  expect(incoming).toMatchObject({ reqId: expect.any(String), req: { method: 'GET', remoteAddress: '127.0.0.1' } });
  expect(completed).toMatchObject({ reqId: incoming?.reqId, res: { statusCode: 200 } });
  expect(text()).toContain('access_token=[redacted]&limit=2');
  expect(text()).not.toContain('c2lnbmF0dXJl');
});
