import type { Config, WitnessSettings } from '../../config.ts';
import type { Store } from '../../log/store.ts';
import { Tree } from '../../log/tree/tree.ts';
import { type Checkpoint, parseCheckpoint } from '../../tlog/checkpoint.ts';
import { sameHash, sha256 } from '../../tlog/hash.ts';
import { openNote } from '../../tlog/note.ts';
import { treeHash } from '../../tlog/tree.ts';
import { verifierOf } from '../../tlog/verifier.ts';
import { originOf } from '../../transparency/log-key.ts';
import type { WitnessAddress } from '../../transparency/witness-client.ts';
import { withStore } from '../with-store.ts';
import { type Finding, fail, ok, reasonOf, warn } from './finding.ts';

/** Milliseconds that a witness may take to answer. */
const LIMIT = 3_000;

/** What to do about a log that is not the one that was cosigned. */
const REMEDY =
  'stop the writes, and compare the store with a backup: plantstore audit verify with a checkpoint that you kept';

/** What a witness says. A fault: it does not answer. Neither: it shows no checkpoint of this log. */
type Answer = { readonly fault?: string; readonly cosigned?: Checkpoint };

/**
 * Examines whether enough witnesses answer, and whether the log extends the checkpoints that they show as cosigned. It
 * asks none of them for a cosignature.
 */
export async function examineWitnesses(config: Config, settings: WitnessSettings): Promise<Finding[]> {
  try {
    return await withStore('read', async (store) => {
      const answers = await answersOf(settings, await originOf(config, store));
      return findings(settings, answers, (cosigned) => contradiction(store, cosigned));
    });
  } catch {
    // The finding on the store says why it cannot be read.
    return findings(settings, await answersOf(settings, ''), async () => undefined);
  }
}

const answersOf = ({ witnesses }: WitnessSettings, origin: string): Promise<Answer[]> =>
  Promise.all(witnesses.map((witness) => answerOf(witness, origin)));

function findings(
  { witnesses, quorum }: WitnessSettings,
  answers: readonly Answer[],
  contradicts: (cosigned: Checkpoint) => Promise<string | undefined>,
): Promise<Finding[]> {
  const answering = answers.filter(({ fault }) => fault === undefined).length;
  return Promise.all(
    witnesses.map(async ({ url, key }, index) => {
      const { fault, cosigned } = answers[index]!;
      if (fault !== undefined) {
        const message = `${key.name} does not answer at ${url} (${fault})`;
        return answering >= quorum
          ? warn('witness', `${message}; ${quorum} are needed, and ${answering} answer`)
          : fail('witness', `${message}: checkpoints and receipts get 503 until ${quorum} witnesses answer`);
      }
      if (cosigned === undefined)
        return ok('witness', `${key.name} answers at ${url}; it shows no checkpoint of this log`);
      const why = await contradicts(cosigned);
      const seen = `${key.name} has cosigned a checkpoint of ${cosigned.size} events`;
      return why === undefined ? ok('witness', seen) : fail('witness', `${seen}, ${why}: ${REMEDY}`);
    }),
  );
}

/** Asks a witness for the last checkpoint of a log that it cosigned, as monitors do (c2sp.org/tlog-witness). */
async function answerOf({ url, key }: WitnessAddress, origin: string): Promise<Answer> {
  const log = Buffer.from(sha256(Buffer.from(origin))).toString('hex');
  try {
    const at = `${url.href.replace(/\/$/, '')}/${log}/checkpoint`;
    const response = await fetch(at, { signal: AbortSignal.timeout(LIMIT), redirect: 'manual' });
    const text = await response.text();
    // Whatever else it says, it answers. It may have another address for monitors, or not know the log yet.
    if (response.status !== 200) return {};
    const checkpoint = parseCheckpoint(openNote(text, [verifierOf(key)]).text);
    return checkpoint.origin === origin ? { cosigned: checkpoint } : {};
  } catch (error) {
    const { cause } = error as Error;
    return { fault: reasonOf(cause ?? error) };
  }
}

/** What is wrong between the log and a checkpoint that was cosigned before this call. */
async function contradiction(store: Store, { size, root }: Checkpoint): Promise<string | undefined> {
  try {
    const { position } = await store.head();
    if (position < size) return `but this log has ${position}`;
    const here = await treeHash(size, new Tree(store, Number.POSITIVE_INFINITY).at(size));
    return sameHash(here, root) ? undefined : `which this log of ${position} does not extend`;
  } catch (error) {
    return `which cannot be compared with this log (${reasonOf(error)})`;
  }
}
