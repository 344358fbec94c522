import { Command } from 'commander';
import { ConfigError, loadConfig, misspeltSettings } from '../config.ts';
import { type Finding, fail, warn } from './doctor/finding.ts';
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
The exit code is 1 if there is a fail. Checks the settings and, if none is wrong,
whether the store can be read, the rights of MongoDB's user, key files,
certificates and file permissions, the disk, whether the issuer, the witnesses
and Kafka answer, and what /readyz of the service on this host says.
Run it as the user of the service, with the same environment.
To check what the store has, run plantstore audit verify.

Example:
  $ plantstore doctor`,
    )
    .action(async () => {
      // All of them first: the exit code must not depend on how much its reader reads.
      const findings = await found();
      if (findings.some(({ level }) => level === 'fail')) process.exitCode = 1;
      await print(findings.map(lineOf));
    });

/** What there is to find. Where a setting is wrong, nothing but the settings is examined. */
async function found(): Promise<Finding[]> {
  const { examine } = await import('./doctor/examine.ts');
  const findings = misspeltSettings().map((line) => warn('settings', line));
  try {
    for await (const finding of examine(loadConfig())) findings.push(finding);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    findings.push(...error.problems.map((problem) => fail('settings', problem)));
  }
  return findings;
}

const lineOf = ({ level, subject, message }: Finding): string => `${level.padEnd(5)} ${subject.padEnd(11)} ${message}`;
