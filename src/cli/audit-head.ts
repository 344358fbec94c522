import { Command } from 'commander';
import { headJson } from '../audit/event-json.ts';
import { signHead } from '../audit/signed-head.ts';
import { openSigningKey } from '../audit/signing-key.ts';
import { loadConfig } from '../config.ts';
import { print } from './output.ts';
import { withStore } from './with-store.ts';

/** `plantstore audit head` */
export const headCommand = (): Command =>
  new Command('head')
    .description(
      'Print the position, hash and time of the last event. Whoever keeps them can tell later whether the log was changed.',
    )
    .option('--sign', 'print them as a signed token (JWS) instead')
    .addHelpText(
      'after',
      `
An empty log has position 0. The key that signs is AUDIT_SIGNING_KEY, or one
in DATA_DIR that is made on first use; the service shows its public key at
/.well-known/plantstore-audit-keys.

Examples:
  $ plantstore audit head
  {"position":42,"hash":"...","time":"2026-01-02T03:04:05.678Z"}
  $ plantstore audit head --sign > monday.jws
  $ plantstore audit verify --head monday.jws`,
    )
    .action(({ sign }: { sign?: true }) =>
      withStore('read', async (store) => {
        const head = await store.head();
        if (!sign) return print([headJson(head)]);
        const { auditSigningKey, dataDirectory } = loadConfig();
        return print([await signHead(head, await openSigningKey(auditSigningKey, dataDirectory))]);
      }),
    );
