import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { SCOPES } from '../auth/principal.ts';
import { loadConfig } from '../config.ts';
import { whole } from './arguments.ts';
import { print } from './output.ts';
import { inDataDirectory } from './with-store.ts';

const seconds = whole(1, 9_999_999_999, 'whole seconds from 1 to 9999999999');

/** `plantstore token` */
export const tokenCommand = (): Command =>
  new Command('token')
    .description('Print a token for the API. Development mode only. Works while the service runs.')
    .requiredOption('--owner <name>', 'owner whose plants the token gives access to')
    .option('--scope <scopes>', `scopes, separated by spaces, or one option for each: ${SCOPES.join(', ')}`, addScopes)
    .option('--ttl <seconds>', 'seconds until the token expires', seconds, 3600)
    .addHelpText(
      'after',
      `
The key in DATA_DIR signs the token. In development mode, a service with the
same DATA_DIR accepts it, and for 30 s more than --ttl, because clocks may
differ.

Examples:
  $ TOKEN=$(plantstore token --owner alice)
  $ curl -w '\\n' -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8080/plants
  $ plantstore token --owner alice --scope "plants:read" --ttl 60`,
    )
    .action(async ({ owner, scope, ttl }: { owner: string; scope?: readonly string[]; ttl: number }) => {
      const { issuer, dataDirectory, ownerClaim } = loadConfig();
      if (issuer !== undefined)
        throw new Error(
          'plantstore token works in development mode only, but JWKS_URL is set; get a token from that issuer',
        );
      const { DEVELOPMENT_KEY_FILE, openDevelopmentIssuer } = await import('../auth/development.ts');
      const isNew = !existsSync(join(dataDirectory, DEVELOPMENT_KEY_FILE));
      const development = await inDataDirectory(dataDirectory, () => openDevelopmentIssuer(dataDirectory));
      if (isNew) console.error(`made a key in ${dataDirectory}: only a service with this DATA_DIR accepts the token`);
      await print([await development.mintToken({ owner, ownerClaim, scope: scope?.join(' '), ttl })]);
    });

function addScopes(text: string, earlier: readonly string[] = []): readonly string[] {
  const unknown = text.split(' ').find((scope) => !SCOPES.some((known) => known === scope));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`Expected one or more of ${SCOPES.join(', ')}, separated by spaces.`);
  return [...earlier, text];
}
