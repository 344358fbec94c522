import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { verdictJson, verdictText } from '../../audit/verdict-text.ts';
import { type Verdict, verifyLog } from '../../audit/verify.ts';
import { loadConfig } from '../../config.ts';
import type { Store } from '../../log/store.ts';
import { topicChecks } from '../../publication.ts';
import type { Checkpoint } from '../../tlog/checkpoint.ts';
import { openLogKey } from '../../transparency/log-key.ts';
import { openCheckpoint } from '../../transparency/signed-checkpoint.ts';
import { print } from '../output.ts';
import { ProgressBar } from '../progress.ts';
import { withStore } from '../with-store.ts';

interface Options {
  readonly checkpoint?: string;
  readonly key?: string;
  readonly json?: true;
}

/** `plantstore audit verify` */
export const verifyCommand = (): Command =>
  new Command('verify')
    .description(
      'Tell whether anything in the log was changed, lost, reordered or invented, and where. Exit code 0: nothing was.',
    )
    .option('--checkpoint <file>', 'a checkpoint that audit checkpoint printed earlier: the log has to extend it')
    .option('--key <vkey>', 'the vkey that the checkpoint is signed with; without it, the key of this store')
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
  tree         is what is kept of the Merkle tree that of the events
  checkpoint   does the log extend the checkpoint (with --checkpoint)
  topic        is the topic, read committed, a prefix of the log (with KAFKA_BROKERS)
It checks up to the head that it sees first, and works while the service runs.

Examples:
  $ plantstore audit verify
  $ plantstore audit verify --checkpoint monday.checkpoint --json`,
    )
    .action(async (options: Options) => {
      const verdict = await withStore('read', (store) => verified(store, options));
      await print([options.json ? verdictJson(verdict) : verdictText(verdict)]);
      if (!verdict.ok) process.exitCode = 1;
    });

async function verified(store: Store, { checkpoint: file, key }: Options): Promise<Verdict> {
  const checkpoint = file === undefined ? undefined : await checkpointIn(store, file, key);
  using bar = new ProgressBar();
  for await (const step of verifyLog(store, { checkpoint, checks: await topicChecks(loadConfig()) })) {
    if ('answers' in step) return step;
    bar.show(step.position, step.end);
  }
  throw new Error('the verification ended without a verdict');
}

async function checkpointIn(store: Store, file: string, key: string | undefined): Promise<Checkpoint> {
  const note = await readFile(file, 'utf8');
  return openCheckpoint(note, key ?? (await openLogKey(loadConfig(), store)).vkey);
}
