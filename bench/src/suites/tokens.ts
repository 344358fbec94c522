import { openDevelopmentIssuer } from '../../../src/auth/development.ts';
import { compare, type Effort } from '../compare.ts';
import { load, type MakeRequest } from '../load.ts';
import { headers } from '../plants.ts';
import { plantstore } from '../plantstore.ts';
import type { Bench } from '../resources.ts';

const CONNECTIONS = 64;

/** What remembering verified tokens is worth: the same token again and again beside a new one for each request (EdDSA). */
export async function tokens(bench: Bench, effort: Effort): Promise<void> {
  const directory = bench.directory();
  const { server } = await bench.server(plantstore(directory, {}));
  const { mintToken } = await openDevelopmentIssuer(directory);
  const mint = (jitter: number) => mintToken({ owner: `owner ${jitter}`, ownerClaim: 'sub', ttl: 36_000 });
  const one = await mint(0);
  const fresh: string[] = [];
  for (let token = 0; token < effort.rounds * effort.seconds * 12_000; token++) fresh.push(await mint(token));

  const get =
    (token: () => string): MakeRequest =>
    () => ({
      method: 'GET',
      path: '/plants?limit=0',
      headers: headers(token()),
    });
  const next = () => {
    const token = fresh.pop();
    if (token === undefined) throw new Error('more requests than new tokens');
    return token;
  };
  const sides = [
    { name: 'token seen before', make: get(() => one) },
    { name: 'new token each time', make: get(next) },
  ].map(({ name, make }) => ({ name, round: (seconds: number) => load(server, make, CONNECTIONS, seconds, '[]') }));
  await compare(`GET /plants?limit=0, ${CONNECTIONS} connections`, sides, effort);
}
