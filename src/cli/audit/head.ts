import { Command } from 'commander';
import { headJson } from '../../audit/formats/event-json.ts';
import { print } from '../output.ts';
import { withStore } from '../with-store.ts';

/** `plantstore audit head` */
export const headCommand = (): Command =>
  new Command('head')
    .description('Print the head of the log: position, hash and time of the last event.')
    .addHelpText(
      'after',
      `
An empty log has position 0. For a signed statement of the log, use
plantstore audit checkpoint.

Example:
  $ plantstore audit head
  {"position":42,"hash":"...","time":"2026-01-02T03:04:05.678Z"}`,
    )
    .action(() => withStore('read', async (store) => print([headJson(await store.head())])));
