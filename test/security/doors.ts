import { expect } from 'vitest';
import { client } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import type { Answer, Attack, AttackRequest } from './attacks/attack.ts';
import type { Scene } from './attacks/scene.ts';

/** A way into the service that attacks are tried on. */
export interface Door extends AsyncDisposable {
  /** What a request is answered with. */
  send(request: AttackRequest): Promise<Answer>;
  /** What an attack has to be answered with here. */
  answerTo(attack: Attack): Answer;
  /** Why requests were refused, in order, as far as that was a decision on their token. */
  reasons(): readonly unknown[];
  /** All that was logged. */
  log(): string;
}

const statusAndChallenge = ({ expect: { status, wwwAuthenticate } }: Attack): Answer => ({ status, wwwAuthenticate });

/** A running service that trusts the scene's issuer. */
export const startTrusting = ({ issuer }: Scene): Promise<LocalService> =>
  startLocalService({ JWKS_URL: issuer.jwksUrl.href, JWT_ISSUER: issuer.issuer, JWT_AUDIENCE: issuer.audience });

/** What every door of a running service shares: what was logged of its decisions, and its end. */
export const observe = (service: LocalService): Pick<Door, 'reasons' | 'log' | typeof Symbol.asyncDispose> => ({
  reasons: () => service.logs.filter(({ msg, why }) => msg === 'request' && why !== undefined).map(({ why }) => why),
  log: () => JSON.stringify(service.logs) + service.output,
  async [Symbol.asyncDispose]() {
    await service.stop();
  },
});

/** REST on the running service: each request tries to add a plant. */
export async function openRest(scene: Scene): Promise<Door> {
  const service = await startTrusting(scene);
  const send = client(service.url);
  const body = JSON.stringify({ id: 7, name: 'Fern' });
  return {
    async send({ headers, path = '/plants' }) {
      const outgoing = Object.entries(headers).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : [...value],
      ]);
      const reply = await send('POST', path, { headers: Object.fromEntries(outgoing), body });
      if (reply.status !== 200)
        expect(JSON.parse(reply.text)).toEqual({ error: expect.any(Number), message: expect.stringMatching(/./) });
      return { status: reply.status, wwwAuthenticate: reply.headers['www-authenticate'] };
    },
    answerTo: (attack) => attack.expectOverHttp ?? statusAndChallenge(attack),
    ...observe(service),
  };
}
