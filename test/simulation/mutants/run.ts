import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { MUTANTS, type Mutant } from './mutants.ts';

// Applies each mutant to a copy of the code, or those whose text has the word that is given, and tells whether the
// simulation finds it: node test/simulation/mutants/run.ts [word]

/** Histories for each mutant: about those of a minute on one core. */
const HISTORIES = 1_500;
const FROM = 1;
/** Milliseconds after which a mutant counts as found: nothing comes to an end any more. */
const LIMIT = 600_000;

const root = resolve(import.meta.dirname, '../../..');
const copy = mkdtempSync(join(tmpdir(), 'plantstore-mutants-'));
for (const name of ['src', 'gen', 'test', 'package.json'])
  cpSync(join(root, name), join(copy, name), { recursive: true });
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));

/** The kind of what was found, and the number of the history that found it. Undefined: nothing was. */
function found({ file, from, to }: Mutant): string | undefined {
  const path = join(copy, 'src', file);
  const text = readFileSync(path, 'utf8');
  if (text.split(from).length !== 2) throw new Error(`${file} has not once: ${from}`);
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
  try {
    const program = join(copy, 'test/simulation/simulate.ts');
    const options = ['--from', String(FROM), '--histories', String(HISTORIES), '--minutes', '60', '--brief'];
    const { status, stdout, error } = spawnSync(process.execPath, [program, ...options], {
      encoding: 'utf8',
      timeout: LIMIT,
    });
    if (error !== undefined) return 'no end';
    return status === 0 ? undefined : stdout.trim().split('\n').at(-1) || 'an error that nobody handles';
  } finally {
    writeFileSync(path, text);
  }
}

const [word = ''] = process.argv.slice(2);
let count = 0;
const chosen = MUTANTS.filter(({ what }) => what.includes(word));
try {
  for (const mutant of chosen) {
    const how = found(mutant);
    if (how !== undefined) count++;
    const expected = (how === undefined) === (mutant.missed !== undefined);
    console.log(
      `| ${mutant.what} | \`${mutant.file}\` | ${how ?? 'no'} |${expected ? '' : ' <- not as the list says'}`,
    );
  }
  console.log(`${count} of ${chosen.length} found in ${HISTORIES} histories`);
} finally {
  rmSync(copy, { recursive: true });
}
