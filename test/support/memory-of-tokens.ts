// Verifies the token from stdin, drops it, and searches a heap snapshot for its signature, which it keeps reversed
// meanwhile. A text kept on purpose shows that the search works. Prints the findings as JSON.
import { setImmediate } from 'node:timers/promises';
import { getHeapSnapshot } from 'node:v8';
import { createAuthenticator } from '../../src/auth/authenticator.ts';
import { RemoteKeySet } from '../../src/auth/keys/jwks.ts';

const [url, issuer, audience] = process.argv.slice(2) as [string, string, string];
const keys = new RemoteKeySet({ url: new URL(url), maxStale: 3600 });
while (!keys.ready().ready) await setImmediate();
const authenticator = createAuthenticator({ keys, issuer, audience, ownerClaim: 'sub' });

const reverse = (text: string): string => Array.from(text).reverse().join('');

async function readToken(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Verifies the token twice, and returns its reversed signature. */
async function use(): Promise<string> {
  const token = await readToken();
  await authenticator.authenticate(`Bearer ${token}`);
  await authenticator.authenticate(`Bearer ${token}`);
  return reverse(token.slice(token.lastIndexOf('.') + 1));
}

const backwards = await use();
const kept = { canary: reverse('yranac-eht-si-siht-setybrehto') };
// The engine keeps the last text matched by a regular expression.
/a/.test('a');
for (let turn = 0; turn < 5; turn++) {
  await setImmediate();
  globalThis.gc?.();
}
const chunks: Buffer[] = [];
for await (const chunk of getHeapSnapshot()) chunks.push(chunk);
const heap = Buffer.concat(chunks);
console.log(
  JSON.stringify({
    remembered: authenticator.cacheHits === 1,
    canaryFound: heap.includes(kept.canary),
    tokenFound: heap.includes(reverse(backwards)),
  }),
);
keys.close();
