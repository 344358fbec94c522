import { compare, type Effort, type Side } from '../compare.ts';
import type { HttpRequest } from '../load/job.ts';
import { ADD, DELETE, FIRST_ID, listRequest } from '../plants.ts';
import { plantstore } from '../plantstore.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';
import { Scene } from '../scene.ts';
import { OURS, REFUSALS, REFUSED } from '../works.ts';

const CONNECTIONS = 64;
const PLANTS = 20;
const DATABASE = 'refusals';
const OWNER = 'lister';
/** Tokens with a bad signature, so that no two requests in a row have the same. */
const FORGED = 5_000;
/** Adds, deletes and seconds of lists before anything is measured. */
const [SERVED, WARM_UP] = [20_000, 2];
const JUNK = 'ThisIsNoTokenOfAnyIssuer';

const LIST = listRequest('/plants', PLANTS);

type Refused = Pick<HttpRequest, 'method' | 'path' | 'body' | 'status'>;
const { method, path } = ADD;
const REQUESTS: Readonly<Record<keyof typeof REFUSED, Refused>> = {
  signature: { ...LIST, status: 401 },
  junk: { ...LIST, status: 401 },
  noToken: { ...LIST, status: 401 },
  noPlant: { method: 'DELETE', path: '/plants/7', status: 404 },
  noRoute: { method: 'GET', path: '/flowers', status: 404 },
  json: { method, path, body: '{"id":7,"name":"Fern"', status: 400 },
  field: { method, path, body: '{"id":"7","name":"Fern"}', status: 400 },
  query: { method: 'GET', path: '/plants?limit=many', status: 400 },
};

/**
 * What a refusal costs the service beside a list of 20 plants: who sends nonsense is not to be served more CPU than
 * others.
 */
export async function refusals(bench: Bench, effort: Effort): Promise<Results> {
  const scene = await Scene.open(bench);
  const server = await bench.server(plantstore(bench.directory(), scene.environment(DATABASE)));
  const { url } = server;
  const token = scene.token(OWNER);
  const job = { protocol: 'http', urls: [url], connections: CONNECTIONS } as const;
  const ids = { from: FIRST_ID, to: FIRST_ID + PLANTS };
  await scene.run({ ...job, tokens: [token], requests: [ADD], connections: 1, seconds: Infinity, ids });

  await serveMany(scene, url);

  const tokensOf = { signature: forge(token), junk: [JUNK], noToken: [''] };
  const side = (name: string, request: HttpRequest, tokens: readonly string[]): Side => ({
    name,
    run: (_, seconds) =>
      scene.measure(server, { ...job, tokens, requests: [request], seconds }, () => scene.projected(DATABASE)),
  });
  const sides = [side(OURS, LIST, [token])];
  for (const [key, request] of Object.entries(REQUESTS) as [keyof typeof REFUSED, Refused][]) {
    const tokens = { ...tokensOf }[key as keyof typeof tokensOf] ?? [token];
    sides.push(side(REFUSED[key], await learn(url, request, tokens[0]!), tokens));
  }
  return { comparison: await compare([REFUSALS], sides, effort) };
}

/**
 * Lets the service serve what it later refuses. V8 compiles a function that returns again and again, and never one that
 * has only thrown: a service without any proper traffic would be measured in V8's interpreter.
 */
async function serveMany(scene: Scene, url: string): Promise<void> {
  const job = { protocol: 'http', urls: [url], tokens: [scene.token('others')], connections: CONNECTIONS } as const;
  const ids = { from: FIRST_ID, to: FIRST_ID + SERVED };
  for (const request of [ADD, DELETE]) await scene.run({ ...job, requests: [request], seconds: Infinity, ids });
  await scene.run({ ...job, requests: [listRequest('/plants?limit=20', 0)], seconds: WARM_UP });
}

/** Tokens whose header and claims are right, with the signature of another token. */
function forge(token: string): string[] {
  const [header, payload, signature] = token.split('.') as [string, string, string];
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  return Array.from({ length: FORGED }, (_, index) => {
    const forged = Buffer.from(JSON.stringify({ ...claims, sub: `forger ${index}` })).toString('base64url');
    return `${header}.${forged}.${signature}`;
  });
}

/** The request with the body that the service answers, once its status is as expected. */
async function learn(url: string, request: Refused, token: string): Promise<HttpRequest> {
  const response = await fetch(url + request.path, {
    method: request.method,
    headers: {
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(request.body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(request.body !== undefined && { body: request.body }),
  });
  const reply = await response.text();
  if (response.status !== request.status) throw new Error(`${request.path}: ${response.status} ${reply}`);
  return { ...request, reply };
}
