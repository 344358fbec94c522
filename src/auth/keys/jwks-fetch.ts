import type { FetchImplementation, JWK } from 'jose';

/** Most bytes of a key set. Real ones have a few thousand. */
export const MAX_JWKS_BYTES = 1024 * 1024;

const SIGNING_KEY_TYPES = new Set(['RSA', 'EC', 'OKP']);

/**
 * A fetch for jose that tolerates a faulty issuer. Accepts only status 200, so it follows no redirects. Reads at most
 * MAX_JWKS_BYTES. A response without a signing key is an error, because otherwise every token would seem forged. Aborts
 * when `closing` does.
 */
export const boundedFetch =
  (closing: AbortSignal): FetchImplementation =>
  async (url, init) => {
    const response = await fetch(url, { ...init, signal: AbortSignal.any([init.signal, closing]) });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`the issuer answered ${response.status}`);
    }
    const keySet = parse(await readBounded(response));
    if (!keySet?.keys?.some?.(isSigningKey)) throw new Error('the answer of the issuer has no signing key');
    return Response.json(keySet);
  };

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early cancels the body and closes the connection.
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_JWKS_BYTES) throw new Error(`the issuer answered with more than ${MAX_JWKS_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): { keys?: Partial<JWK>[] } | null {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('the answer of the issuer is not JSON');
  }
}

const isSigningKey = (key: Partial<JWK> | null): boolean =>
  typeof key?.kty === 'string' && SIGNING_KEY_TYPES.has(key.kty) && key.use !== 'enc';
