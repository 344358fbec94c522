import { Command } from 'commander';
import { checkErasureCommand } from './check-erasure.ts';
import { checkpointCommand, headCommand, keyCommand } from './checkpoint.ts';
import { exportCommand } from './export.ts';
import { historyCommand, listCommand } from './history.ts';
import { importCommand } from './import.ts';
import { checkReceiptCommand, receiptCommand } from './receipt.ts';
import { rebuildCommand, verifyCommand } from './verify.ts';

/** `plantstore audit` */
export const auditCommand = (): Command =>
  new Command('audit')
    .description('Read, verify and export the event log. Every command except import works while the service runs.')
    .addCommand(verifyCommand())
    .addCommand(headCommand())
    .addCommand(checkpointCommand())
    .addCommand(keyCommand())
    .addCommand(receiptCommand())
    .addCommand(checkErasureCommand())
    .addCommand(checkReceiptCommand())
    .addCommand(exportCommand())
    .addCommand(importCommand())
    .addCommand(listCommand())
    .addCommand(historyCommand())
    .addCommand(rebuildCommand());
