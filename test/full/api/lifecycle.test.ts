import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { credentials, makeClientConstructor } from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, grpcClient, unary } from '../../support/grpc.ts';
import { plantstore, run } from '../../support/run.ts';
import { Service, startService } from '../../support/service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const BODY = '{"id":1,"name":"Fern"}';

/** A request to add a plant, of which the service has seen the headers and waits for the body. */
async function beginPost(service: Service): Promise<ClientRequest> {
  const post = request(`${service.url}/plants`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await service.token('alice')}`,
      'content-type': 'application/json',
      'content-length': BODY.length,
      expect: '100-continue',
    },
  });
  post.flushHeaders();
  await once(post, 'continue');
  return post;
}

interface Readyz {
  readonly status: string;
  readonly dependencies: readonly Record<string, unknown>[];
}

const readiness = async (service: Service): Promise<Readyz> =>
  (await (await fetch(`${service.adminUrl}/readyz`)).json()) as Readyz;

test('each port is one line, and the service is ready', async () => {
  await using service = await startService({ RATELIMIT: '5' });
  const [warning, ...lines] = service.logs;
  expect(warning).toMatchObject({ level: 'warn', msg: 'RATELIMIT is no setting; did you mean RATE_LIMIT?' });
  const listening = service.logs.filter(({ msg }) => msg === 'listening');
  expect(listening.map(({ protocol }) => protocol)).toEqual(expect.arrayContaining(['admin', 'rest']));
  for (const { address } of listening) expect(address).toMatch(/^(http:\/\/)?127\.0\.0\.1:\d+$/);
  for (const line of lines)
    expect(line).toMatchObject({ level: 'info', time: expect.any(String), msg: expect.any(String) });
  const { status, dependencies } = await readiness(service);
  expect(status).toBe('ready');
  expect(dependencies.map(({ name, ready }) => [name, ready])).toContainEqual(['store', true]);
});

test('the welcome of development mode has a curl that works as it is', async () => {
  await using service = await startService();
  const curl = service.output.split('\n').find((line) => line.startsWith('curl '));
  expect(await run('bash', ['-c', `${curl} --silent --fail`])).toMatchObject({
    code: 0,
    stdout: '{"name":"Moss","tag":"outdoor"}\n',
  });
});

test('with an issuer there is no welcome, nothing but JSON lines; one that is down makes it unready and does not stop it', async () => {
  await using service = new Service({
    JWKS_URL: 'http://127.0.0.1:1/jwks',
    JWT_ISSUER: 'issuer',
    JWT_AUDIENCE: 'plants',
    NODE_ENV: 'production',
  });
  await service.logged(({ msg, protocol }) => msg === 'listening' && protocol === 'rest');
  const issuer = { name: 'issuer', ready: false, detail: expect.stringMatching(/./), since: expect.any(String) };
  const store = expect.objectContaining({ name: 'store', ready: true });
  await expect
    .poll(async () => (await readiness(service)).dependencies)
    .toEqual(expect.arrayContaining([issuer, store]));
  expect(service.output).toBe('');
});

test('SIGTERM: unready, nothing new, what is in flight ends and is kept, what never ends is broken off, exit 0', async () => {
  const dataDirectory = temporaryDirectory(onTestFinished);
  const service = await startService({ DATA_DIR: dataDirectory });
  const [post, endless] = [await beginPost(service), await beginPost(service)];
  const broken = once(endless, 'error');
  const exit = service.stop();
  await expect.poll(async () => (await readiness(service)).status).toBe('draining');
  await expect.poll(() => fetch(service.url).catch((error) => error.cause?.code)).toBe('ECONNREFUSED');
  post.end(BODY);
  const [response]: IncomingMessage[] = (await once(post, 'response')) as [IncomingMessage];
  expect([response!.statusCode, await text(response!)]).toEqual([200, '{"name":"Fern"}']);
  // Else the client would send its next request to where nobody is.
  expect(response!.headers.connection).toBe('close');
  expect((await broken)[0]).toMatchObject({ code: 'ECONNRESET' });
  expect(await exit).toBe(0);
  expect((await plantstore(['audit', 'export'], { DATA_DIR: dataDirectory })).stdout).toContain('"name":"Fern"');
});

test('while it drains it is unready and serves, on new connections and on those that are there, one answer each; a second signal ends it at once', async () => {
  await using service = await startService({ DRAIN_GRACE: '600' });
  const token = await service.token('alice');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const get = () =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      request(`${service.url}/plants`, { agent, headers }, (response) => resolve(response.resume()))
        .on('error', reject)
        .end();
    });
  const health = new (makeClientConstructor(healthService, 'health'))(service.grpcUrl, credentials.createInsecure());
  const plants = grpcClient(service.grpcUrl);
  expect((await get()).headers.connection).toBe('keep-alive');
  expect(await unary(health, 'check', {})).toEqual({ status: 'SERVING' });

  const exit = service.stop();
  await expect.poll(async () => (await readiness(service)).status).toBe('draining');
  for (let request = 0; request < 3; request++)
    expect(await get()).toMatchObject({ statusCode: 200, headers: { connection: 'close' } });
  expect(await unary(health, 'check', {})).toEqual({ status: 'NOT_SERVING' });
  expect(await unary(plants, 'listPlants', {}, bearer(token))).toMatchObject({ plants: [] });
  process.kill(service.pid, 'SIGTERM');
  expect(await exit).toBe(1);
});

test.each(['SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const)('%s ends it as SIGTERM does', async (signal) => {
  const service = await startService();
  expect(await service.stop(signal)).toBe(0);
});
