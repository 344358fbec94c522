import { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { examine } from './doctor/doctor.ts';
import type { Finding } from './doctor/finding.ts';
import { print } from './output.ts';

/** `plantstore doctor` */
export const doctorCommand = (): Command =>
  new Command('doctor')
    .description(
      'Look at everything that a service with these settings stands on, and say what is wrong. Changes nothing.',
    )
    .addHelpText(
      'after',
      `
One line for each: ok, warn (know of it) or fail (and what to do). The exit
code is 1 where something is wrong. It looks at the store and its schema, the
read model, leases, what rebuilds left, clocks, key files, certificates and who
may read them, the disk, the issuer, Kafka, and the service on this host, which
may run meanwhile. Run it as the service's user, with its environment. Whether
the log is whole, plantstore audit verify tells.

Example:
  $ plantstore doctor`,
    )
    .action(() => print(lines(examine(loadConfig()))));

async function* lines(findings: AsyncIterable<Finding>): AsyncGenerator<string> {
  for await (const { level, subject, message } of findings) {
    if (level === 'fail') process.exitCode = 1;
    yield `${level.padEnd(5)} ${subject.padEnd(11)} ${message}`;
  }
}
