import { Command, InvalidArgumentError } from 'commander';
import { openDevelopmentIssuer } from '../auth/development.ts';
import { SCOPES } from '../auth/scopes.ts';
import { loadConfig } from '../config.ts';
import { print } from './output.ts';

/** `plantstore token` */
export const tokenCommand = (): Command =>
  new Command('token')
    .description(
      'Print a token for the API, and nothing else. For development mode only; works while the service runs.',
    )
    .requiredOption('--owner <name>', 'whose plants the token opens')
    .option('--scope <scopes>', `what it is good for, separated by spaces: ${SCOPES.join(', ')}`, knownScopes)
    .option('--ttl <seconds>', 'how long it is valid', wholeSeconds, 3600)
    .addHelpText(
      'after',
      `
It is signed with the key in DATA_DIR, which the service of the same DATA_DIR
trusts in development mode.

Examples:
  $ TOKEN=$(plantstore token --owner alice)
  $ curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8080/plants
  $ plantstore token --owner alice --scope "plants:read" --ttl 60`,
    )
    .action(async ({ owner, scope, ttl }: { owner: string; scope?: string; ttl: number }) => {
      const { issuer, dataDirectory, ownerClaim } = loadConfig();
      if (issuer !== undefined)
        throw new Error('tokens are made in development mode only; JWKS_URL is set, so ask that issuer for one');
      const development = await openDevelopmentIssuer(dataDirectory);
      await print([await development.mintToken({ owner, ownerClaim, ttl, ...(scope !== undefined && { scope }) })]);
    });

function knownScopes(text: string): string {
  const unknown = text.split(' ').find((scope) => !SCOPES.some((known) => known === scope));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`Expected some of ${SCOPES.join(', ')}, separated by spaces.`);
  return text;
}

function wholeSeconds(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new InvalidArgumentError('Expected a whole number of seconds above 0.');
  return Number(text);
}
