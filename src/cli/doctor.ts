import { Command } from 'commander';
import { loadConfig } from '../config.ts';
import type { Finding } from './doctor/finding.ts';
import { print } from './output.ts';

/** `plantstore doctor` */
export const doctorCommand = (): Command =>
  new Command('doctor')
    .description(
      'Check everything that a service with these settings depends on, and say how to fix what is wrong. Changes nothing.',
    )
    .addHelpText(
      'after',
      `
Prints one line per finding: ok, warn (good to know) or fail (with what to do).
The exit code is 1 if there is a fail. Checks whether the store can be read, the
rights of MongoDB's user, key files, certificates and file permissions, the disk,
whether the issuer, the witnesses and Kafka answer, and what /readyz of the
service on this host says.
Run it as the user of the service, with the same environment.
To check what the store has, run plantstore audit verify.

Example:
  $ plantstore doctor`,
    )
    .action(async () => {
      const { examine } = await import('./doctor/examine.ts');
      // All of them first: the exit code must not depend on how much its reader reads.
      const findings: Finding[] = [];
      for await (const finding of examine(loadConfig())) findings.push(finding);
      if (findings.some(({ level }) => level === 'fail')) process.exitCode = 1;
      await print(findings.map(lineOf));
    });

const lineOf = ({ level, subject, message }: Finding): string => `${level.padEnd(5)} ${subject.padEnd(11)} ${message}`;
