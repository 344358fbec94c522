import { Command } from 'commander';
import { checkReceiptCommand } from './audit-check-receipt.ts';
import { checkpointCommand } from './audit-checkpoint.ts';
import { exportCommand } from './audit-export.ts';
import { headCommand } from './audit-head.ts';
import { historyCommand } from './audit-history.ts';
import { importCommand } from './audit-import.ts';
import { keyCommand } from './audit-key.ts';
import { listCommand } from './audit-list.ts';
import { rebuildCommand } from './audit-rebuild.ts';
import { receiptCommand } from './audit-receipt.ts';
import { verifyCommand } from './audit-verify.ts';

/** `plantstore audit` */
export const auditCommand = (): Command =>
  new Command('audit')
    .description('Read the log of events, prove it, travel in it. All but import work while the service runs.')
    .addCommand(verifyCommand())
    .addCommand(headCommand())
    .addCommand(checkpointCommand())
    .addCommand(keyCommand())
    .addCommand(receiptCommand())
    .addCommand(checkReceiptCommand())
    .addCommand(exportCommand())
    .addCommand(importCommand())
    .addCommand(listCommand())
    .addCommand(historyCommand())
    .addCommand(rebuildCommand());
