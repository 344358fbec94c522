import { Command } from 'commander';
import { counted } from '../../domain/counted.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import { position, subjectKey } from '../arguments.ts';
import { print } from '../output.ts';
import { withStore } from '../with-store.ts';

interface Options {
  readonly owner: string;
  readonly key: Uint8Array;
  readonly position?: number;
}

/** `plantstore audit check-erasure` */
export const checkErasureCommand = (): Command =>
  new Command('check-erasure')
    .description('Prove which event erased an owner, with the key that the outcome of the erasure returned.')
    .requiredOption('--owner <name>', 'the owner who was erased')
    .requiredOption('--key <key>', 'subjectKey of the outcome, in hexadecimal or base64', subjectKey)
    .option('--position <position>', 'only the event at this position', position)
    .addHelpText(
      'after',
      `
The subject of an OwnerErased event is SHA-256 of the key and the owner's name.
Nobody can find out the owner without both. Exit code 1: no event erased them.
If you have an export and no store, import it into an empty folder, and verify it
with a checkpoint that you trust (audit import, audit verify --checkpoint).

Example:
  $ plantstore audit check-erasure --owner alice --key 5bd1...
  Position 42 erased "alice": the content of 17 events is gone.`,
    )
    .action(async (options: Options) => {
      const { position: to } = options;
      const found = await withStore('read', (store) => erasureIn(store.read((to ?? 1) - 1, { to }), options));
      if (found?.event?.type !== 'OwnerErased')
        throw new Error(`no event${of(options)} erased ${JSON.stringify(options.owner)} with this key`);
      const { position: at, erases, event } = found;
      const state = erases?.isCleared === false ? 'is being removed' : 'is gone';
      await print([
        `Position ${at} erased ${JSON.stringify(options.owner)}: the content of ${counted(event.erased, 'event')} ${state}.`,
      ]);
    });

const of = ({ position: at }: Options): string => (at === undefined ? '' : ` at position ${at}`);

/**
 * The first OwnerErased event whose subject is the owner. Throws if the content of an OwnerErased event up to it does
 * not match its commitment.
 */
async function erasureIn(
  batches: AsyncIterable<readonly LoggedEvent[]>,
  { owner, key }: Options,
): Promise<LoggedEvent | undefined> {
  const { subjectOf, verifyContent } = await import('../../log/event/chain.ts');
  const subject = subjectOf({ owner, key });
  for await (const events of batches)
    for (const logged of events) {
      const { event } = logged;
      if (event?.type !== 'OwnerErased' || event.subject === undefined) continue;
      verifyContent(logged);
      if (Buffer.compare(event.subject, subject) === 0) return logged;
    }
  return undefined;
}
