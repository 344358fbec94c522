import { expect, test } from 'vitest';
import { client } from '../support/http.ts';
import { Issuer } from '../support/issuer.ts';
import { Service } from '../support/service.ts';

const PATIENT = { timeout: 30_000 };

test('the service starts without its issuer, judges nobody meanwhile, and later outlives it', async () => {
  await using issuer = await Issuer.start();
  await issuer.stop();
  await using service = new Service({
    JWKS_URL: issuer.jwksUrl.href,
    JWT_ISSUER: issuer.issuer,
    JWT_AUDIENCE: issuer.audience,
  });
  await expect.poll(() => service.logs.some(({ protocol }) => protocol === 'rest'), PATIENT).toBe(true);
  const list = (sub: string) => client(service.url, issuer.token({ claims: { sub } }))('GET', '/plants');

  const judged = await list('alice');
  expect(judged.status, judged.text).toBe(503);
  expect(JSON.parse(judged.text)).toEqual({
    error: 14,
    message: expect.stringMatching(/issuer are unavailable; try again/),
  });
  expect(Number(judged.headers['retry-after'])).toBeGreaterThan(0);
  expect(judged.headers['www-authenticate']).toBeUndefined();
  const readiness = await client(service.adminUrl)('GET', '/readyz');
  expect(readiness.status).toBe(503);
  expect(readiness.text).toMatch(/no keys of the issuer: .*ECONNREFUSED.*next attempt in \d+ s/);

  await issuer.resume();
  await service.ready();
  expect((await list('alice')).status).toBe(200);

  await issuer.stop();
  expect((await list('somebody new')).status).toBe(200);
});
