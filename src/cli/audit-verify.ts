import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import type { JSONWebKeySet } from 'jose';
import { verifySignedHead } from '../audit/signed-head.ts';
import { publishedKeys } from '../audit/signing-key.ts';
import { verdictJson, verdictText } from '../audit/verdict-text.ts';
import { type Verdict, verifyLog } from '../audit/verify.ts';
import { loadConfig } from '../config.ts';
import type { Head } from '../log/event.ts';
import type { Store } from '../log/store.ts';
import { topicChecks } from '../publication.ts';
import { print } from './output.ts';
import { ProgressBar } from './progress.ts';
import { withStore } from './with-store.ts';

interface Options {
  readonly head?: string;
  readonly keys?: string;
  readonly json?: true;
}

/** `plantstore audit verify` */
export const verifyCommand = (): Command =>
  new Command('verify')
    .description(
      'Tell whether anything in the log was changed, lost, reordered or invented, and where. Exit code 0: nothing was.',
    )
    .option('--head <file>', 'a head that audit head --sign printed earlier: the log has to extend it')
    .option(
      '--keys <file>',
      'the JWKS that the head is signed with; without it, the keys that signed with this DATA_DIR',
    )
    .option('--json', 'print the verdict as JSON')
    .addHelpText(
      'after',
      `
Questions, each answered with yes or with the first place where it is no:
  positions    is every position there once and in order
  chain        does every hash continue the chain
  contents     does each content fit its event, was each missing one erased
  read_model   is the read model exactly the fold of the log up to its checkpoint
  decisions    was each event allowed on the state before it
  storage      is the database sound, its indexes among it (embedded store)
  signed_head  does the log extend the signed head (with --head)
  topic        is the topic, read committed, a prefix of the log (with KAFKA_BROKERS)
It checks up to the head that it sees first, and works while the service runs.

Examples:
  $ plantstore audit verify
  $ plantstore audit verify --head monday.jws --json`,
    )
    .action(async (options: Options) => {
      const verdict = await withStore('read', (store) => verified(store, options));
      await print([options.json ? verdictJson(verdict) : verdictText(verdict)]);
      if (!verdict.ok) process.exitCode = 1;
    });

async function verified(store: Store, { head, keys }: Options): Promise<Verdict> {
  const signedHead = head === undefined ? undefined : await signedHeadOf(head, keys);
  using bar = new ProgressBar();
  for await (const step of verifyLog(store, { signedHead, checks: await topicChecks(loadConfig()) })) {
    if ('answers' in step) return step;
    bar.show(step.position, step.end);
  }
  throw new Error('the verification ended without a verdict');
}

async function signedHeadOf(file: string, keysFile: string | undefined): Promise<Head> {
  const jws = await readFile(file, 'utf8');
  return verifySignedHead(jws, keysFile === undefined ? await ownKeys() : JSON.parse(await readFile(keysFile, 'utf8')));
}

function ownKeys(): Promise<JSONWebKeySet> {
  const { auditSigningKey, dataDirectory } = loadConfig();
  return publishedKeys(auditSigningKey, dataDirectory);
}
