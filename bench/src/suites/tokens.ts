import { openDevelopmentIssuer } from '../../../src/auth/development.ts';
import { compare, type Effort, type Side } from '../compare.ts';
import { LoadGenerator } from '../load/generator.ts';
import { listRequest } from '../plants.ts';
import { plantstore } from '../plantstore.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';

const CONNECTIONS = 64;
/** More tokens than the service remembers, so that in turns none of them is remembered. */
const TOKENS = 12_000;

const WORK = `GET /plants?limit=0, ${CONNECTIONS} connections, SQLite`;

/** What remembering verified tokens is worth: the same token again and again beside ever others (EdDSA). */
export async function tokens(bench: Bench, effort: Effort): Promise<Results> {
  const directory = bench.directory();
  const server = await bench.server(plantstore(directory, {}));
  const load = new LoadGenerator();
  bench.defer(() => load.stop());
  const { mintToken } = await openDevelopmentIssuer(directory);
  const mint = (_: unknown, number: number) => mintToken({ owner: `owner ${number}`, ownerClaim: 'sub', ttl: 36_000 });
  const many = await Promise.all(Array.from({ length: TOKENS }, mint));
  const side = (name: string, tokens: readonly string[]): Side => ({
    name,
    run: async (_, seconds) => {
      const before = server.cpu();
      const requests = [listRequest('/plants?limit=0', 0)];
      const done = await load.run({
        protocol: 'http',
        urls: [server.url],
        tokens,
        requests,
        connections: CONNECTIONS,
        seconds,
      });
      const cpu = (server.cpu() - before) / done.count;
      return { ...done, service: cpu, cpu };
    },
  });
  const sides = [side('token seen before', many.slice(0, 1)), side('token not seen before', many)];
  return { comparison: await compare([WORK], sides, effort) };
}
