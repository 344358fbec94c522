import { buffer } from 'node:stream/consumers';
import { Command } from 'commander';
import type { Proved } from '../../audit/check-receipt.ts';
import { counted } from '../../domain/counted.ts';
import type { DomainEvent } from '../../domain/events.ts';
import { setFields } from '../../domain/plant.ts';
import { readPieces } from '../../files.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import { Tree } from '../../log/tree/tree.ts';
import { eventAt } from '../../log/whole-range.ts';
import { parseWitnessKey, type VerifierKey } from '../../tlog/verifier-key.ts';
import { position, vkey } from '../arguments.ts';
import { print, write } from '../output.ts';
import { withStore } from '../with-store.ts';
import { signNow } from './checkpoint.ts';

/** `plantstore audit check-receipt` */
export const checkReceiptCommand = (): Command =>
  new Command('check-receipt')
    .description(
      'Verify a receipt and print what it proves. Needs no store, network or settings. Exit code 0: the receipt is valid.',
    )
    .argument('<file>', 'a receipt from audit receipt or GetReceipt')
    .requiredOption('--key <vkey>', 'vkey of the log, from a source that you trust', (text) => vkey(text))
    .option('--witness <vkey>', 'vkey of a witness that must have cosigned; repeatable', withWitness)
    .addHelpText(
      'after',
      `
Example:
  $ plantstore audit check-receipt 42.tlog-proof --key "$(cat log.vkey)"`,
    )
    .action(async (file: string, { key, witness }: { key: VerifierKey; witness?: readonly VerifierKey[] }) => {
      const { checkReceipt } = await import('../../audit/check-receipt.ts');
      const receipt = await receiptIn(file);
      try {
        await print([sentence(checkReceipt(receipt, key, witness))]);
      } catch (error) {
        const why = `${(error as Error).message}${endOf(receipt)}`;
        throw new Error(`the receipt in ${file} is not valid: ${why}`, { cause: error });
      }
    });

const withWitness = (text: string, all: readonly VerifierKey[] = []) => [...all, vkey(text, parseWitnessKey)];

/** Most bytes of a receipt: more than those of the longest event and a hundred cosignatures. */
const MAX_RECEIPT = 1_000_000;

async function receiptIn(file: string): Promise<string> {
  // `end` is inclusive: one byte more than a receipt may have, however long the file is.
  const receipt = await buffer(readPieces(file, MAX_RECEIPT));
  if (receipt.length > MAX_RECEIPT)
    throw new Error(`${file} is not a receipt: it has more than ${MAX_RECEIPT.toLocaleString('en')} bytes`);
  return receipt.toString();
}

/** What to do about the end of a receipt that is not as it was made. */
const endOf = (receipt: string): string =>
  /[^\n]\n$/.test(receipt)
    ? ''
    : '; a receipt ends with one line break: save it unchanged, with jq -j, which adds none (jq -r does)';

function sentence({ event, origin, size, cosigned }: Proved): string {
  const { position, eventId } = event;
  const witnesses = cosigned.map(({ name, time: at }) => `, cosigned by ${name} at ${iso(at)}`).join('');
  return (
    `In the log ${origin}, the event at position ${position} ${whatOf(event)} (event ${eventId}); ` +
    `proved by the log's checkpoint of ${counted(size, 'event')}${witnesses}.`
  );
}

function whatOf({ event, type, time }: LoggedEvent): string {
  if (event !== undefined) return `says that ${deedOf(event)} at ${iso(time)}`;
  // What erased the content is not in the tree, so a receipt without it proves no erasure.
  return `is a ${type} of ${iso(time)}, whose content the receipt does not show`;
}

function deedOf(event: DomainEvent): string {
  if (event.type === 'OwnerErased')
    return `an owner with ${counted(event.erased, 'event')} was erased by ${JSON.stringify(event.actor)}`;
  const { owner, actor, plantId } = event;
  const by = actor === owner ? '' : ` by ${JSON.stringify(actor)}`;
  if (event.type === 'PlantDeleted') return `plant ${plantId} of ${JSON.stringify(owner)} was deleted${by}`;
  const { name, ...texts } = setFields(event);
  const others = Object.entries(texts).map(([field, text]) => ` with ${field} ${JSON.stringify(text)}`);
  return `plant ${plantId} of ${JSON.stringify(owner)} was added${by}: ${JSON.stringify(name)}${others.join('')},`;
}

const iso = (time: number): string => new Date(time).toISOString();

const notThere = (at: number): Error => new Error(`the log has no event at position ${at}`);

/** `plantstore audit receipt` */
export const receiptCommand = (): Command =>
  new Command('receipt')
    .description('Print the receipt for an event: the event and a signed proof that the log contains it.')
    .argument('<position>', 'position of the event', position)
    .addHelpText(
      'after',
      `
A tlog-proof (c2sp.org/tlog-proof) whose extra data is the event, in protobuf.
plantstore audit check-receipt verifies it without the log, as does any program
that follows docs/transparency.md. It stays valid even if the log disappears.

Example:
  $ plantstore audit receipt 42 > 42.tlog-proof`,
    )
    .action((at: number) =>
      withStore('read', async (store) => {
        if (at === 0 || at > (await store.head()).position) throw notThere(at);
        const tree = new Tree(store);
        const checkpoint = await signNow(store, tree);
        const { makeReceipt, proveEvent } = await import('../../transparency/event-proof.ts');
        const proven = await proveEvent(tree, checkpoint, at);
        // The last that is read: to sign may take seconds, in which the owner can be erased.
        const event = await eventAt(store, at);
        if (event === undefined) throw notThere(at);
        await write([makeReceipt(proven, checkpoint, event)]);
      }),
    );
