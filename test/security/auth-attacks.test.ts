import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { attacks } from './attacks/index.ts';
import { openScene, type Scene } from './attacks/scene.ts';
import { type Door, openRest } from './doors.ts';
import { openConnect, openGrpc } from './rpc-doors.ts';

const GOOD = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'];

// Node and grpc-js keep values that are not ASCII from the service. And a call of gRPC has no query.
const grpcAttacks = attacks.filter(({ name }) => !/not ASCII|in the query/.test(name));

describe.each([
  ['REST', openRest, attacks],
  ['Connect', openConnect, attacks],
  ['gRPC', openGrpc, grpcAttacks],
])('%s', (_, open, tried) => {
  const sent: string[] = [];
  const reasons: string[] = [];
  let scene: Scene;
  let door: Door;

  beforeAll(async () => {
    scene = await openScene();
    door = await open(scene);
  });

  afterAll(async () => {
    await door[Symbol.asyncDispose]();
    await scene[Symbol.asyncDispose]();
  });

  test.each(tried)('refuses $name', async (attack) => {
    const request = await attack.build(scene);
    const answer = door.answerTo(attack);
    expect(await door.send(request)).toEqual(answer);
    sent.push(JSON.stringify(request));
    if (answer.status === attack.expect.status) reasons.push(attack.expect.why);
  });

  test('says why in the log, and logs nothing of a token', async () => {
    await expect.poll(() => door.reasons(), { timeout: 30_000 }).toEqual(reasons);
    // Long enough not to be found by chance: a header, a payload or a signature.
    const parts = sent.flatMap((request) => request.split(/[^\w-]/)).filter((part) => part.length > 30);
    expect(parts.length).toBeGreaterThan(tried.length);
    const log = door.log();
    expect(parts.filter((part) => log.includes(part))).toEqual([]);
  });

  test('asks the attacker nothing', () => {
    expect(scene.server).toMatchObject({ fetches: 0, strays: 0 });
    expect(scene.issuer.strays).toBe(0);
  });

  test.each(GOOD)('lets in a good token with %s', async (alg) => {
    const headers = { authorization: `Bearer ${scene.issuer.token({ alg, claims: { sub: `owner of ${alg}` } })}` };
    expect(await door.send({ headers })).toEqual({ status: 200, wwwAuthenticate: undefined });
  });
});
