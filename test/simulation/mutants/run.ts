import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { MUTANTS, type Mutant } from './mutants.ts';

// Applies each mutant to a copy of the code, or those whose texts have one of the words that are given, and tells
// whether the simulation finds it: node test/simulation/mutants/run.ts [--histories N] [--each NAMES] [word ...]

/** Milliseconds after which a mutant counts as found: nothing comes to an end any more. */
const LIMIT = 600_000;

const { values, positionals: words } = parseArgs({
  allowPositionals: true,
  // About those of a minute on one core.
  options: { histories: { type: 'string', default: '1500' }, each: { type: 'string' } },
});
const OPTIONS = ['--from', '1', '--histories', values.histories, '--minutes', '60', '--brief'];
if (values.each !== undefined) OPTIONS.push('--each', values.each);

const root = resolve(import.meta.dirname, '../../..');

/** A copy of the code, to be changed. */
class Copy implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'plantstore-mutants-'));

  constructor() {
    for (const name of ['src', 'gen', 'test', 'package.json'])
      cpSync(join(root, name), join(this.#folder, name), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(this.#folder, 'node_modules'));
  }

  /** The kind of what the simulation found with a mutant, and in how many histories. Undefined: nothing. */
  async found({ file, from, to }: Mutant): Promise<string | undefined> {
    const path = join(this.#folder, 'src', file);
    const text = readFileSync(path, 'utf8');
    if (text.split(from).length !== 2) throw new Error(`${file} has not once: ${from}`);
    writeFileSync(
      path,
      text.replace(from, () => to),
    );
    try {
      return await this.#simulate();
    } finally {
      writeFileSync(path, text);
    }
  }

  #simulate(): Promise<string | undefined> {
    const program = join(this.#folder, 'test/simulation/simulate.ts');
    return new Promise((done) => {
      execFile(process.execPath, [program, ...OPTIONS], { timeout: LIMIT }, (error, stdout) => {
        if (error === null) done(undefined);
        else done(error.killed ? 'no end' : stdout.trim().split('\n').at(-1) || 'an error that nobody handles');
      });
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}

const chosen = MUTANTS.filter(({ what }) => words.length === 0 || words.some((word) => what.includes(word)));
const waiting = [...chosen];
let count = 0;

async function work(): Promise<void> {
  using copy = new Copy();
  for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
    const how = await copy.found(mutant);
    if (how !== undefined) count++;
    console.log(`| ${mutant.what} | \`${mutant.file}\` | ${how ?? 'no'} |`);
  }
}

await Promise.all(Array.from({ length: availableParallelism() }, work));
console.log(`${count} of ${chosen.length} found in ${values.histories} histories`);
