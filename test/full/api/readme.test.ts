import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { plantstore, run } from '../../support/run.ts';
import { startService } from '../../support/service.ts';

const README = readFileSync('README.md', 'utf8');
const SCRIPTS: Record<string, string> = JSON.parse(readFileSync('package.json', 'utf8')).scripts;

const hasCurl = (() => {
  try {
    execFileSync('curl', ['--version']);
    return true;
  } catch {
    console.warn('SKIPPED: the session in README.md needs curl');
    return false;
  }
})();

/** What is different each time. */
const settle = (text: string) =>
  text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replaceAll(/[0-9a-f]{64}/g, 'HASH')
    .replaceAll(/(?<="salt":")[0-9a-f]{32}/g, 'SALT')
    .replaceAll('\r', '');

test.skipIf(!hasCurl)('the session of the first five minutes goes as it is printed', async () => {
  const session = README.matchAll(/^```console\n(.*?)^```$/gms)
    .map(([, block]) => block)
    .toArray()
    .join('');
  const steps = session.split(/^\$ /m).slice(1);
  expect(steps.length).toBeGreaterThan(8);
  await using service = await startService();
  const commands = steps.map((step) => `echo '${MARK}'; ${step.split('\n', 1)[0]}; echo`);
  const program = `npx() { shift; "${process.execPath}" bin/plantstore.js "$@"; }\n${commands.join('\n')}`;
  const { stdout } = await run('bash', ['-c', program.replaceAll('http://127.0.0.1:8080', service.url)], {
    DATA_DIR: service.dataDirectory,
  });
  const answers = stdout.split(MARK).slice(1);
  expect(answers.map((answer) => settle(answer).trim())).toEqual(
    steps.map((step) => settle(step.split('\n').slice(1).join('\n')).trim()),
  );
});
const MARK = '=== next ===';

test('every npm script that it names exists', () => {
  const named = README.matchAll(/\bnpm (?:run ([\w:]+)|(start|test)\b)/g)
    .map(([, script, short]) => script ?? short!)
    .toArray();
  expect(named).toEqual(expect.arrayContaining(['start', 'test']));
  expect(named.filter((name) => !(name in SCRIPTS))).toEqual([]);
});

test('every plantstore command that it names has a help', async () => {
  const named = new Set(README.matchAll(/\bplantstore((?: [a-z]+)*)/g).map(([, words]) => words!.trim()));
  const commands = [...named].filter((command) => /^(serve|token|audit)\b/.test(command));
  expect(commands).toEqual(expect.arrayContaining(['serve', 'token', 'audit export', 'audit verify']));
  for (const command of commands) {
    const { code, stdout } = await plantstore([...command.split(' '), '--help']);
    expect({ command, code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(`^Usage: plantstore ${command}`),
    });
  }
});
