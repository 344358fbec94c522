import { openDevelopmentIssuer } from '../../../src/auth/development.ts';
import { type Effort, median } from '../compare.ts';
import { LoadGenerator } from '../load/generator.ts';
import { type Arrivals, arrive, capacity, type MakeRequest } from '../open-loop.ts';
import { ADD, FIRST_ID } from '../plants.ts';
import { developmentToken, plantstore } from '../plantstore.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';

/** As many as keep the server busy, and no more than it serves without refusing. */
const CONNECTIONS = 256;
/** More than are remembered, so that used in turns none is. */
const TOKENS = 15_000;
const PLANTS = 1_000;

/** What is left of the service when requests arrive faster than it can serve them: once, twice and four times its capacity. */
export async function overload(bench: Bench, { rounds, seconds }: Effort): Promise<Results> {
  const directory = bench.directory();
  const server = await bench.server(plantstore(directory, {}));
  const { mintToken } = await openDevelopmentIssuer(directory);
  const lister = developmentToken(directory, 'lister');
  await seed(server.url, lister);
  const fresh: string[] = [];
  for (let number = 0; number < TOKENS; number++)
    fresh.push(await mintToken({ owner: `owner ${number}`, ownerClaim: 'sub', ttl: 36_000 }));
  let turn = 0;
  const works: Record<string, MakeRequest> = {
    'a list of no plants, a token not seen before each': () => ({
      method: 'GET',
      path: '/plants',
      headers: headers(fresh[turn++ % TOKENS]!),
    }),
    [`a list of ${PLANTS} plants`]: lists(lister),
    'an add': adds(developmentToken(directory, 'adder')),
  };

  for (const [work, make] of Object.entries(works)) {
    await capacity(server.url, make, CONNECTIONS, 2);
    const peaks: number[] = [];
    for (let round = 0; round < rounds; round++) peaks.push(await capacity(server.url, make, CONNECTIONS, seconds));
    const peak = median(peaks);
    console.log(`\n${work}: capacity ${peak.toFixed(0)}/s (${CONNECTIONS} connections, each waits for its answer)`);
    for (const times of [1, 2, 4]) {
      const results: (Arrivals & { readonly cpu: number })[] = [];
      for (let round = 0; round < rounds; round++) {
        const before = server.cpu();
        const result = await arrive(server.url, make, peak * times, seconds);
        results.push({ ...result, cpu: (server.cpu() - before) / 1_000_000 / seconds });
      }
      const of = (figure: keyof (typeof results)[number]) => median(results.map((result) => result[figure]));
      console.log(
        `  arrivals x${times} ${of('offered').toFixed(0).padStart(7)}/s  served ${of('served').toFixed(0)}/s (${(of('served') / peak).toFixed(2)})` +
          `  refused ${of('refused').toFixed(0)}/s  lost ${of('lost')}  p50 ${of('p50').toFixed(0)} ms  p99 ${of('p99').toFixed(0)} ms  cores ${of('cpu').toFixed(2)}`,
      );
    }
  }
  return {};
}

const headers = (token: string) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });

const lists =
  (token: string): MakeRequest =>
  () => ({ method: 'GET', path: '/plants', headers: headers(token) });

function adds(token: string): MakeRequest {
  let id = FIRST_ID;
  return () => ({
    method: 'POST',
    path: ADD.path,
    headers: headers(token),
    body: ADD.body!.replaceAll('{id}', `${id++}`),
  });
}

async function seed(url: string, token: string): Promise<void> {
  const load = new LoadGenerator();
  const ids = { from: FIRST_ID, to: FIRST_ID + PLANTS };
  const job = { protocol: 'http', urls: [url], tokens: [token], requests: [ADD], connections: 20 } as const;
  await load.run({ ...job, seconds: Number.POSITIVE_INFINITY, ids });
  load.stop();
}
