import { resolve } from 'node:path';
import { createAuthenticator } from '../auth/authenticator.ts';
import { DEVELOPMENT_ISSUER, openDevelopmentIssuer } from '../auth/development.ts';
import { type KeySet, RemoteKeySet } from '../auth/keys/jwks.ts';
import type { Config } from '../config.ts';
import type { Telemetry } from '../observe/telemetry.ts';

/** Seconds for which the token in the welcome is valid. */
const WELCOME_TTL = 3600;
/** The scopes of that token: everything the console shows. */
const WELCOME_SCOPE = 'plants:read plants:write plants:audit';

/** Opens the issuer that the settings trust; in development mode the service's own, which gives a first `token`. */
export async function openAuthentication(
  config: Config,
  { metrics, decided, fetched }: Telemetry,
  opened: AsyncDisposableStack,
) {
  const { token, ...issuer } = await openIssuer(config, fetched);
  const { keys } = issuer;
  opened.defer(async () => keys.close());
  const { ownerClaim, limits } = config;
  const authenticator = createAuthenticator({ ...issuer, ownerClaim, maxWait: limits.maxWait, onDecision: decided });
  metrics.total(
    'plantstore_token_cache_hits_total',
    'Calls admitted by the token cache.',
    () => authenticator.cacheHits,
  );
  metrics.gauge('plantstore_jwks_ready', 'Whether there are keys to verify tokens with: 1 or 0.', () =>
    Number(keys.ready().ready),
  );
  return { keys, authenticator, token };
}

async function openIssuer(
  { issuer: settings, dataDirectory, ownerClaim }: Config,
  onFetch: Telemetry['fetched'],
): Promise<{ issuer: string; audience: string; keys: KeySet; token?: string }> {
  if (settings !== undefined) {
    const { jwksUrl: url, issuer, audience, maxStale } = settings;
    return { issuer, audience, keys: new RemoteKeySet({ url, maxStale, onFetch }) };
  }
  const { keys, mintToken } = await openDevelopmentIssuer(dataDirectory);
  const token = await mintToken({ owner: 'alice', ownerClaim, scope: WELCOME_SCOPE, ttl: WELCOME_TTL });
  return { issuer: DEVELOPMENT_ISSUER, audience: DEVELOPMENT_ISSUER, keys, token };
}

/** The first steps in development mode. The link has the token in its fragment, which browsers do not send. */
export const welcome = (url: string, token: string, dataDirectory: string): string => `
The plant store runs in development mode. Open this link for the console, signed in as alice:

${url}/console#token=${token}

Or run this to add a plant of alice:

curl -w '\\n' ${url}/plants -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '{"id":1,"name":"Moss","tag":"outdoor"}'

Without -d and the plant after it, the same command lists her plants. Try the whole API at ${url}/docs
The token expires in an hour; ${dataDirectory === resolve('data') ? '' : `DATA_DIR=${dataDirectory} `}npx plantstore token --owner alice issues a new one. The log of the service follows.

`;
