import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { checkReceipt, type Proved } from '../../audit/check-receipt.ts';
import type { DomainEvent } from '../../domain/events.ts';
import { print } from '../output.ts';

interface Options {
  readonly key: string;
  readonly witness: readonly string[];
}

/** `plantstore audit check-receipt` */
export const checkReceiptCommand = (): Command =>
  new Command('check-receipt')
    .description('Tell what a receipt proves. It needs no store, no network and no settings. Exit code 0: it holds.')
    .argument('<file>', 'what audit receipt printed, or GetReceipt gave')
    .requiredOption('--key <vkey>', 'the vkey of the log, from whom you trust')
    .option(
      '--witness <vkey>',
      'a witness that has to have cosigned; may be given again',
      (vkey, all: string[] = []) => [...all, vkey],
    )
    .addHelpText(
      'after',
      `
Example:
  $ plantstore audit check-receipt 42.tlog-proof --key "$(cat log.vkey)"`,
    )
    .action(async (file: string, { key, witness = [] }: Partial<Options> & Pick<Options, 'key'>) => {
      const trusted = witness.map((vkey) => vkey.trim());
      await print([sentence(checkReceipt(await readFile(file, 'utf8'), key.trim(), trusted))]);
    });

function sentence({ event, origin, size, cosigned }: Proved): string {
  const { position, time, eventId } = event;
  const witnesses = cosigned.map(({ name, time: at }) => `, cosigned by ${name} at ${iso(at)}`).join('');
  return (
    `The log ${origin} has at position ${position} that ${whatOf(event.event)} at ${iso(time)} (event ${eventId}); ` +
    `proved by its checkpoint of ${size} events${witnesses}.`
  );
}

function whatOf(event: DomainEvent | undefined): string {
  if (event === undefined) return 'something happened whose content is erased';
  if (event.type === 'OwnerErased')
    return `an owner with ${event.erased} events was erased by ${JSON.stringify(event.actor)}`;
  const { owner, actor, plantId } = event;
  const by = actor === owner ? '' : ` by ${JSON.stringify(actor)}`;
  if (event.type === 'PlantDeleted') return `plant ${plantId} of ${JSON.stringify(owner)} was deleted${by}`;
  const tag = event.tag === undefined ? '' : ` with tag ${JSON.stringify(event.tag)}`;
  return `plant ${plantId} of ${JSON.stringify(owner)} was added${by}: ${JSON.stringify(event.name)}${tag},`;
}

const iso = (time: number): string => new Date(time).toISOString();
