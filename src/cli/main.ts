import { Command } from 'commander';
import { ConfigError } from '../config.ts';
import { wordsOf } from '../files.ts';
import { VERSION } from '../observe/version.ts';
import { checkErasureCommand } from './audit/check-erasure.ts';
import { checkpointCommand, headCommand, keyCommand } from './audit/checkpoint.ts';
import { exportCommand } from './audit/export.ts';
import { historyCommand, listCommand } from './audit/history.ts';
import { importCommand } from './audit/import.ts';
import { checkReceiptCommand, receiptCommand } from './audit/receipt.ts';
import { rebuildCommand, verifyCommand } from './audit/verify.ts';
import { backupCommand } from './backup.ts';
import { doctorCommand } from './doctor.ts';
import { eraseCommand } from './erase.ts';
import { serveCommand } from './serve.ts';
import { tokenCommand } from './token.ts';
import { upgradeCommand } from './upgrade.ts';
import { witnessCommand } from './witness.ts';

// A command loads what it needs when it runs. To load what all commands need would double its time.

const auditCommand = (): Command =>
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

const program = new Command('plantstore')
  .description('An event-sourced plant store: REST, Connect and gRPC over one tamper-evident log.')
  .version(VERSION, '--version', 'print the version')
  .addCommand(serveCommand())
  .addCommand(tokenCommand())
  .addCommand(auditCommand())
  .addCommand(backupCommand())
  .addCommand(eraseCommand())
  .addCommand(doctorCommand())
  .addCommand(upgradeCommand())
  .addCommand(witnessCommand())
  .addHelpText(
    'after',
    `
Results go to stdout, everything else to stderr. The exit code is 0 on success.
Settings come from the environment: plantstore serve --help lists them.

Examples:
  $ plantstore serve
  $ curl -w '\\n' -H "Authorization: Bearer $(plantstore token --owner alice)" http://127.0.0.1:8080/plants
  $ plantstore audit export > log.ndjson`,
  );

/**
 * Refuses an option that is given twice, unless it makes a list of its values. The last one would count: of two owners,
 * one would not be erased.
 */
function onlyOnce(command: Command): void {
  for (const option of command.options) {
    let given = 0;
    command.on(`option:${option.name()}`, () => {
      if (++given === 1 || option.isBoolean() || Array.isArray(command.getOptionValue(option.attributeName()))) return;
      command.error(`error: option '${option.flags}' is given twice, and counts once`);
    });
  }
  for (const each of command.commands) onlyOnce(each);
}

/** What is wrong, in words: of a file, its name comes first. */
function inWords(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { code, syscall, path, message, name } = error as NodeJS.ErrnoException;
  // Of the driver, which has no words for what happens while a primary is replaced.
  if (name.startsWith('Mongo')) return `MongoDB: ${message}; run the command again, and plantstore doctor if it lasts`;
  if (code === 'EEXIST' && syscall === 'mkdir') return `${path} is a file, and not a folder`;
  return path === undefined ? message : wordsOf(path || "''", error);
}

onlyOnce(program);
try {
  await program.parseAsync();
} catch (error) {
  const problems = error instanceof ConfigError ? error.problems : [inWords(error)];
  for (const problem of problems) console.error(`plantstore: ${problem}`);
  process.exit(1);
}
