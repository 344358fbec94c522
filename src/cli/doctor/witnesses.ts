import type { Config } from '../../config.ts';
import { BrokenChainError } from '../../log/event/chain.ts';
import type { Store } from '../../log/store.ts';
import { BrokenTreeError } from '../../log/tree/nodes.ts';
import { Tree } from '../../log/tree/tree.ts';
import { type Checkpoint, parseCheckpoint } from '../../tlog/checkpoint.ts';
import { sameHash, sha256 } from '../../tlog/hash.ts';
import { openNote } from '../../tlog/note.ts';
import { treeHash } from '../../tlog/tree.ts';
import { verifierOf } from '../../tlog/verifier.ts';
import { originOf } from '../../transparency/log-key.ts';
import { textOf, type WitnessAddress } from '../../transparency/witness-client.ts';
import { withStore } from '../with-store.ts';
import { type Finding, fail, ok, reasonOf, warn } from './finding.ts';

type WitnessSettings = NonNullable<Config['witnesses']>;

/** Milliseconds that a witness may take to answer. */
const LIMIT = 3_000;

/** What to do about a log that is not the one that was cosigned. */
const REMEDY =
  'stop the writes, and compare the store with a backup: plantstore audit verify with a checkpoint that you kept';

/**
 * What a witness says of the log: a checkpoint that it has cosigned, or nothing. A fault: it does not answer. A doubt: it
 * answers with something else.
 */
interface Answer {
  readonly fault?: string;
  readonly doubt?: string;
  readonly cosigned?: Checkpoint;
}

/** Says whether the log extends a checkpoint that `seen` names, which was cosigned before. */
type Comparison = (seen: string, cosigned: Checkpoint) => Promise<Finding>;

/**
 * Examines whether enough witnesses answer, and whether the log extends the checkpoints that they show as cosigned. It
 * asks none of them for a cosignature.
 */
export async function examineWitnesses(config: Config, settings: WitnessSettings): Promise<Finding[]> {
  try {
    return await withStore('read', async (store) => {
      const answers = await answersOf(settings, await originOf(config, store));
      const tree = new Tree(store);
      return findings(settings, answers, (seen, cosigned) => compared(store, tree, seen, cosigned));
    });
  } catch (error) {
    const answers = await answersOf(settings, config.logOrigin);
    return findings(settings, answers, async (seen) => notCompared(seen, error));
  }
}

const answersOf = ({ witnesses }: WitnessSettings, origin: string | undefined): Promise<Answer[]> =>
  Promise.all(witnesses.map((witness) => answerOf(witness, origin)));

function findings(
  { witnesses, quorum }: WitnessSettings,
  answers: readonly Answer[],
  compare: Comparison,
): Promise<Finding[]> {
  const answering = answers.filter(({ fault }) => fault === undefined).length;
  return Promise.all(
    witnesses.map(async ({ url, key: { name } }, index) => {
      const { fault, doubt, cosigned } = answers[index]!;
      if (fault !== undefined) {
        const message = `${name} does not answer at ${url} (${fault})`;
        return answering >= quorum
          ? warn('witness', `${message}; ${quorum} are needed, and ${answering} answer`)
          : fail('witness', `${message}: checkpoints and receipts get 503 until ${quorum} witnesses answer`);
      }
      const here = `${name} answers at ${url}`;
      if (doubt !== undefined) return warn('witness', `${here}; its last checkpoint was not compared: ${doubt}`);
      if (cosigned === undefined) return ok('witness', `${here}; it shows no checkpoint of this log`);
      return compare(`${name} has cosigned a checkpoint of ${cosigned.size} events`, cosigned);
    }),
  );
}

/** Asks a witness for the last checkpoint of a log that it cosigned, as monitors do (c2sp.org/tlog-witness). */
async function answerOf({ url, key }: WitnessAddress, origin: string | undefined): Promise<Answer> {
  const log = Buffer.from(sha256(Buffer.from(origin ?? ''))).toString('hex');
  let text: string;
  try {
    const at = `${url.href.replace(/\/$/, '')}/${log}/checkpoint`;
    const response = await fetch(at, { signal: AbortSignal.timeout(LIMIT), redirect: 'manual' });
    if (response.status !== 200) {
      // Whatever else it says, it answers. It may have another address for monitors, or not know the log yet.
      await response.body?.cancel();
      return origin === undefined ? { doubt: 'the name of the log is unknown' } : {};
    }
    text = await textOf(response);
  } catch (error) {
    const { cause } = error as Error;
    return { fault: reasonOf(cause ?? error) };
  }
  try {
    const cosigned = parseCheckpoint(openNote(text, [verifierOf(key)]).text);
    return cosigned.origin === origin ? { cosigned } : { doubt: `it is of the log ${cosigned.origin}` };
  } catch (error) {
    return { doubt: reasonOf(error) };
  }
}

async function compared(store: Store, tree: Tree, seen: string, { size, root }: Checkpoint): Promise<Finding> {
  try {
    const { position } = await store.head();
    if (position < size) return fail('witness', `${seen}, but this log has ${position}: ${REMEDY}`);
    if (sameHash(await treeHash(size, tree.at(size)), root)) return ok('witness', seen);
    return fail('witness', `${seen}, which this log of ${position} does not extend: ${REMEDY}`);
  } catch (error) {
    if (error instanceof BrokenChainError) return fail('witness', `${seen}, and ${error.message}: ${REMEDY}`);
    if (error instanceof BrokenTreeError) return fail('witness', `${seen}, and ${error.message}`);
    return notCompared(seen, error);
  }
}

const notCompared = (seen: string, error: unknown): Finding =>
  warn('witness', `${seen}; the log was not compared with it: ${reasonOf(error)}`);
