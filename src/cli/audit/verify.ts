import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import type { Question } from '../../audit/checks/check.ts';
import { unaskedCheck } from '../../audit/checks/damage.ts';
import { repairReadModel } from '../../audit/repair.ts';
import { damagedVerdict, type Verdict, verdictJson, verdictText, verifyLog } from '../../audit/verify.ts';
import { readText } from '../../files.ts';
import { DamagedStoreError, LostRecordError, type Store } from '../../log/store.ts';
import { topicChecks } from '../../start/publication.ts';
import { type Checkpoint, openCheckpoint } from '../../tlog/checkpoint.ts';
import type { VerifierKey } from '../../tlog/verifier-key.ts';
import { AUDIT_KEY_FILE, openLogSigner } from '../../transparency/log-key.ts';
import { CHECKPOINT_FILE } from '../../transparency/signed-checkpoint.ts';
import { vkey } from '../arguments.ts';
import { ProgressLine, print } from '../output.ts';
import { storeConfig, withStore } from '../with-store.ts';
import { keptHere } from './checkpoint.ts';

interface Options {
  readonly checkpoint?: string;
  readonly key?: VerifierKey;
  readonly json?: true;
}

/** `plantstore audit verify` */
export const verifyCommand = (): Command =>
  new Command('verify')
    .description(
      'Verify the log: find the first place where anything was changed, lost, reordered or invented. Exit code 0: the log is whole.',
    )
    .option(
      '--checkpoint <file>',
      'an earlier checkpoint that the log must extend; default: the last one of this log that DATA_DIR keeps',
    )
    .option('--key <vkey>', 'vkey that verifies the checkpoint; default: the key of this store', (text) => vkey(text))
    .option('--json', 'print the verdict as JSON')
    .addHelpText(
      'after',
      `
Each question is answered with yes, or with the first place where the answer is
no:
  positions    is every position there once and in order
  chain        does every hash continue the chain
  contents     does each content fit its event, and was each missing one erased
  read_model   is the read model exactly the fold of the log up to its checkpoint
  decisions    was each event allowed on the state before it
  storage      is the database sound: does it find each event by what it says
  tree         do the stored nodes of the Merkle tree follow from the events
  checkpoint   does the log extend the checkpoint (with --checkpoint, or where
               DATA_DIR keeps the last one that was signed of this log)
  topic        is the topic, read committed, a prefix of the log (with KAFKA_BROKERS)
Verifies the log up to its head at the start. The service may run meanwhile.

Examples:
  $ plantstore audit verify
  $ plantstore audit verify --checkpoint monday.checkpoint --json`,
    )
    .action(async (options: Options) => {
      if (options.key !== undefined && options.checkpoint === undefined)
        throw new Error('--key is the key of a checkpoint: give the checkpoint too, with --checkpoint');
      const verdict = await withStore('read', (store) => verified(store, options)).catch((error) =>
        onDamage(error, options),
      );
      await print([options.json ? verdictJson(verdict) : verdictText(verdict)]);
      if (!verdict.ok) process.exitCode = 1;
    });

async function verified(store: Store, { checkpoint: file, key }: Options): Promise<Verdict> {
  const found = await (file === undefined ? keptOf(store) : checkpointIn(store, file, key));
  const [checkpoint, unasked] =
    typeof found === 'string' ? [undefined, [unaskedCheck('checkpoint', found)]] : [found, []];
  const checks = async () => [...unasked, ...(await topicChecks(storeConfig(), store))];
  const progress = new ProgressLine();
  for await (const step of verifyLog(store, { checkpoint, checks })) {
    if ('answers' in step) return step;
    progress.show(step.position, step.end);
  }
  throw new Error('the verification ended without a verdict; run it again');
}

/** A store that cannot be opened, since it is damaged or has lost what it begins with, is the answer to a question. */
function onDamage(error: unknown, { checkpoint }: Options): Verdict {
  const others: readonly Question[] = [
    ...(checkpoint !== undefined || existsSync(keptFile()) ? (['checkpoint'] as const) : []),
    ...(storeConfig().kafka === undefined ? [] : (['topic'] as const)),
  ];
  if (error instanceof DamagedStoreError) return damagedVerdict(error.fault, others);
  if (error instanceof LostRecordError) return damagedVerdict(error.message, others);
  throw error;
}

const keptFile = (): string => join(storeConfig().dataDirectory, CHECKPOINT_FILE);

/**
 * The last checkpoint that DATA_DIR keeps of this log; why it cannot be had, which is no reason not to verify the log.
 * Undefined: DATA_DIR keeps none, as on a machine where nothing is signed, which then gets no key.
 */
async function keptOf(store: Store): Promise<Checkpoint | string | undefined> {
  if (!existsSync(keptFile())) return undefined;
  try {
    return await keptHere().read((await openLogSigner(storeConfig(), store)).key);
  } catch (error) {
    return (error as Error).message;
  }
}

async function checkpointIn(store: Store, file: string, given: VerifierKey | undefined): Promise<Checkpoint> {
  const note = await readText(file);
  const key = given ?? (await keyHere(store));
  try {
    return openCheckpoint(note, key);
  } catch (error) {
    const advice = given === undefined ? '; for a checkpoint of another key, give that one with --key' : '';
    throw new Error(`the checkpoint in ${file} cannot be used: ${(error as Error).message}${advice}`, { cause: error });
  }
}

/** The vkey of this store. Rejects where there is none yet: a new key has signed nothing. */
async function keyHere(store: Store): Promise<VerifierKey> {
  const config = storeConfig();
  const file = join(config.dataDirectory, AUDIT_KEY_FILE);
  if (config.auditSigningKey === undefined && !existsSync(file))
    throw new Error(`there is no ${file}: give the vkey of the checkpoint with --key, or set AUDIT_SIGNING_KEY`);
  return (await openLogSigner(config, store)).key;
}

/** `plantstore audit rebuild` */
export const rebuildCommand = (): Command =>
  new Command('rebuild')
    .description(
      'Repair the read model and the nodes of the Merkle tree from the log: what differs is changed where it stands.',
    )
    .addHelpText(
      'after',
      `
The service may run meanwhile. If the repair is interrupted, what it has
repaired stays. Prints the position of the read model.

Example:
  $ plantstore audit rebuild
  {"checkpoint":42}`,
    )
    .action(() =>
      withStore('repair', async (store) => {
        const progress = new ProgressLine();
        let checkpoint = 0;
        for await (const { position, end } of repairReadModel(store)) {
          progress.show(position, end);
          checkpoint = position;
        }
        await print([JSON.stringify({ checkpoint })]);
      }),
    );
