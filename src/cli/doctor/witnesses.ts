import type { WitnessSettings } from '../../config.ts';
import { type Finding, fail, ok, reasonOf, warn } from './finding.ts';

/** Milliseconds that a witness may take to answer. */
const LIMIT = 3_000;

/** Examines whether enough witnesses answer. It asks none of them for a cosignature. */
export async function examineWitnesses({ witnesses, quorum }: WitnessSettings): Promise<Finding[]> {
  const faults = await Promise.all(witnesses.map(({ url }) => faultOf(url)));
  const answering = faults.filter((fault) => fault === undefined).length;
  const enough = answering >= quorum;
  return witnesses.map(({ url, key }, index) => {
    const fault = faults[index];
    if (fault === undefined) return ok('witness', `${key.name} answers at ${url}`);
    const message = `${key.name} does not answer at ${url} (${fault})`;
    return enough
      ? warn('witness', `${message}; ${quorum} are needed, and ${answering} answer`)
      : fail('witness', `${message}: checkpoints and receipts get 503 until ${quorum} witnesses answer`);
  });
}

/** Why nobody answers; undefined where somebody does, whatever the answer. */
async function faultOf(url: URL): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(LIMIT), redirect: 'manual' });
    await response.body?.cancel();
    return undefined;
  } catch (error) {
    const { cause } = error as Error;
    return reasonOf(cause ?? error);
  }
}
